"""The frame of report.html; ``$names`` are filled in by :mod:`.html`, which escapes them."""

STYLE = """<style>
:root { color-scheme: light dark; --page: #f3f4f6; --card: #ffffff; --ink: #1b1c1e; --soft: #5c6066; --line: #dcdfe3;
  --good: #006b4c; --limited: #9a4600; }
@media (prefers-color-scheme: dark) { :root { --page: #131518; --card: #1d2024; --ink: #e9eaec; --soft: #a3a8ae;
  --line: #363a40; --good: #4fd0a5; --limited: #f2a65a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, Arial, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 24px 16px 40px; }
h1 { font-size: 1.5rem; margin: 0 0 4px; } h2 { font-size: 1.15rem; margin: 36px 0 10px; }
p { margin: 8px 0; max-width: 75ch; }
.badge { font-size: 1rem; font-weight: 600; white-space: nowrap; }
.badge.good { color: var(--good); } .badge.limited { color: var(--limited); }
.badge::before { content: ""; display: inline-block; width: .7em; height: .7em; margin-right: .4em; border-radius: 50%;
  background: currentColor; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; margin: 0; padding: 14px; }
.guarantee { font-size: 1.08rem; max-width: none; margin: 14px 0; border-left: 5px solid var(--good); }
.guarantee.limited { border-left-color: var(--limited); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 10px; margin: 14px 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 8px 12px; }
dt { color: var(--soft); font-size: .82rem; } dd { margin: 0; font-size: 1.1rem; font-variant-numeric: tabular-nums; }
.narrow { max-width: 640px; }
.pictures { columns: 2 440px; column-gap: 14px; } .pictures figure { break-inside: avoid; margin-bottom: 14px; }
figcaption, .note { color: var(--soft); font-size: .9rem; } figcaption { margin-top: 6px; }
svg { display: block; width: 100%; height: auto; stroke-linejoin: round; stroke-linecap: butt; }
svg + svg { margin-top: 12px; }
svg text { font-family: system-ui, "Segoe UI", Roboto, Arial, sans-serif !important; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 12px; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
tr:last-child > * { border-bottom: 0; } thead th { color: var(--soft); font-weight: 600; }
.prices th:first-child { white-space: normal; min-width: 12em; } th.words { text-align: left; }
td.words { text-align: left; white-space: normal; min-width: 16em; }
td small { color: var(--soft); } tr.all > * { color: var(--soft); }
th:first-child { text-align: left; position: sticky; left: 0; background: var(--card); }
th i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .5em; }
.facts th, .facts td { text-align: left; vertical-align: top; white-space: normal; }
.facts th { color: var(--soft); font-weight: 400; white-space: nowrap; padding-left: 0; }
code, pre { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .88em; overflow-wrap: anywhere; }
pre { margin: 8px 0; white-space: pre-wrap; }
footer { margin-top: 32px; color: var(--soft); font-size: .85rem; }
@media (max-width: 480px) { main { padding: 16px 10px 32px; } .card { padding: 10px; } }
@media print { body { background: #fff; } .card, .tile { break-inside: avoid; } }
</style>"""

_FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
@STYLE@
</head>
<body>
<main>
<h1>Clustering report</h1>
<span class="badge $badge_class">$badge</span>
<p>$problem</p>
<p class="card guarantee $badge_class">$guarantee</p>
<dl class="tiles">$tiles</dl>
$notes
$pictures
$broken
$table
<!-- prices begin --><!-- prices end -->
$tree
<section><h2>How to check this</h2>
<p>The proof is stored beside this page. <code>certimeans verify DIR</code>, with the folder of this page for DIR, goes
through it again with separate code and the data alone: labels, constraints, cost and every bound of the search.</p>
</section>
<section><h2>How to make it again</h2>
<div class="card scroll">$reproduce</div></section>
<footer>Written by certimeans $version. $cost Clusters and points are numbered from 0.</footer>
</main>
</body>
</html>
"""

PAGE = _FRAME.replace("@STYLE@", STYLE)

CHOICES_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>certimeans: $counts clusters compared</title>
@STYLE@
</head>
<body>
<main>
<h1>How many clusters?</h1>
<p>The same problem was solved for $counts clusters, each with a proof of its own. The page shows what each number costs
and explains; which one to take depends on what the clusters are for.</p>
$notes
<div class="narrow">$picture</div>
<section><h2>Side by side</h2>
<div class="card scroll"><table>
<thead><tr><th scope=col>k</th><th scope=col>cost</th><th scope=col>proven lower bound</th><th scope=col>proven gap</th>
<th scope=col>explained</th><th scope=col>silhouette</th><th scope=col>agreement</th><th scope=col>status</th></tr>
</thead>
<tbody>$rows</tbody></table></div>
<p class=note>More clusters explain more, so the least cost is no reason to take the largest k: look for the bend.
Explained is the share of the scatter that the clusters account for. The mean silhouette lies between -1 and 1, and is
large where clusters are apart. Agreement is the adjusted Rand index with the clustering of the k before, 1 if they are
equal.</p>
</section>
$reproduce
<footer>Written by certimeans $version. Each k links to its own report; its folder has the proof.</footer>
</main>
</body>
</html>
""".replace("@STYLE@", STYLE)
