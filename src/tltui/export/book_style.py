"""The styles of a report besides those of every HTML file of ours: its head, contents, and sections of pages and compiles."""

STYLE = """
.tltui body{max-width:96rem}
.tltui .rep-head{margin:0 -1.25rem 1.2em;padding:.9em 1.25rem;background:var(--bar)}
.tltui .rep-head h1{margin:0 0 .3em;font-size:1.5em}
.tltui .rep-head p{margin:.2em 0;max-width:100ch}
.tltui .rep-count{color:var(--dim);font-weight:400;font-size:.93em}
.tltui .rep-nav details,.tltui .rep-nav details[open]{border:0;padding:0;margin:0}
.tltui .rep-nav details[open]>:not(summary){padding:0}
.tltui .rep-nav summary{color:var(--tok-heading);font-weight:700}
.tltui .rep-nav h2{margin:1em 0 .3em;font-size:1em}
.tltui .rep-nav ul{margin:.2em 0;gap:.2em 1.4em}
.tltui .rep-nav li{overflow-wrap:anywhere}
.tltui .rep-nav a{text-decoration-color:var(--rule)}
.tltui .rep-page{border-top:2px solid var(--rule);margin-top:2.5em}
.tltui .rep-page>h2,.tltui .rep-page>summary>h2,.tltui .rep-part{font-size:1.35em;margin:.7em 0 .1em}
.tltui .rep-page>h2+p{margin:0 0 1em}
.tltui details.rep-page{padding-top:.7em}
.tltui details.rep-page,.tltui details.rep-page[open]{border-left:0;padding-left:0}
.tltui details.rep-page[open]>:not(summary){padding-left:0}
.tltui .rep-compile{border-top:1px solid var(--rule);margin:0;padding:.35em 0}
.tltui .rep-compile[open]{border-left:0;padding:.35em 0 1.2em}
.tltui .rep-compile>summary{font-weight:700;padding:.25em 0}
.tltui .rep-compile[open]>summary{background:var(--bar);padding:.25em .5em;margin:0 -.5em .8em}
.tltui .rep-compile[open]>:not(summary){padding-left:0}
.tltui .rep-artifact{margin:.15em 0 .15em 1ch}
.tltui section{scroll-margin-top:4em}
.tltui .rep-page section{scroll-margin-top:7em}
.tltui .rep-cut{color:var(--tok-break)}
.tltui .gone,.tltui .gone>.link{color:inherit}
.tltui .gone{text-decoration-color:var(--dim)}
@media(min-width:70rem){.tltui body{display:grid;grid-template-columns:15rem minmax(0,1fr);column-gap:2.5rem}
.tltui .rep-head{grid-column:1/-1}
.tltui .rep-nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow-y:auto;padding:.5em .5em 1em 0;font-size:.93em}
.tltui .rep-nav ul{display:block}.tltui .rep-nav li{padding:.1em 0 .1em 2ch;text-indent:-2ch}
.tltui .rep-page:first-child{border-top:0;margin-top:0}}
@media(max-width:69.99rem){.tltui .rep-nav ul{max-height:14em;overflow-y:auto}}
@media print{.tltui .rep-nav{display:none}}
"""
