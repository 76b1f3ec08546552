"""Whatever people see of a run, made from its report alone.

A report can be read anywhere, years later and by strangers, so nothing here asks the server, the
catalogue of cases or the run, and text of the report may come from a hostile server or have been
written by a forger: each format escapes it in its own way, and bounds its length. What is said
about a report stands once and is printed everywhere alike: the verdict, causes and costs come from
report/ in words, doubts from `trust`, the bytes of a case from `shown`, which `sections` helps to
tell apart. The rest only places these words: `html` on the page, `text` on the terminal, `github`,
`junit` and `badge` for services. `registry` lists the files; who adds one adds a line there.
"""
