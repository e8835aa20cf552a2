"""Measurements: micro/ for single stages, suite/ for folders of instances, results/ for what they gave."""
