"""Pages for people: HTML and SVG as strings, made of frozen dataclasses. Nothing here reads a file of documents.

escaping      the one function that puts text into a page
document      a whole page: style and script inside, a content security policy that forbids the rest
parts         tiles, tables, notes
charts        histograms, bars and curves
graphs        clusters as nodes and links
side_by_side  two texts with the passages that they share
run_page      the report of `dedup`
evaluation_page   the report of `evaluate`
"""
