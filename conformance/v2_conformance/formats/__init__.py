"""The formats that people see, made from report.json alone.

`registry` lists the files that are written beside report.json. The other modules render what
commands print (`terminal`, `case_text`, `diff_text`, `verification_text`), what a CI service reads
(`github`), a page about several reports (`matrix`) and scripts that send a case again (`replay`).
"""
