"""The styles of a report besides those of every HTML file of ours: its head, contents and folds."""

STYLE = """
body{margin:0 auto;padding:0 1rem 4rem;max-width:100rem}
.rep-head h1{margin:.8rem 0 .2rem;font-size:1.5rem;overflow-wrap:anywhere}
.rep-head p{margin:.2rem 0}
.rep-nav ul{list-style:none;margin:.3rem 0;padding:0}
.rep-nav li{padding:.1rem 0;overflow-wrap:anywhere}
.rep-nav h2{font-size:1rem;margin:.8rem 0 .2rem}
.rep-count{opacity:.75;font-size:.85em;font-weight:normal}
.rep-part{margin-top:2rem}
.rep-compile{margin:.5rem 0;padding-left:.6rem;border-left:3px solid #8884}
.rep-compile>summary,.rep-artifact>summary,.rep-nav summary{cursor:pointer}
.rep-compile>summary{font-weight:600}
.rep-artifact{margin:.3rem 0 .3rem .6rem}
.rep-cut{font-style:italic}
.gone{text-decoration:underline dotted;cursor:help}
pre{overflow-x:auto}
section{scroll-margin-top:.5rem}
@media(min-width:75rem){body{display:grid;grid-template-columns:17rem minmax(0,1fr);gap:0 2rem}
.rep-head{grid-column:1/-1}
.rep-nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow-y:auto;font-size:.9rem}}
@media print{.rep-nav{display:none}}
"""
