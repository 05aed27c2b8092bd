"""The studio: a local web application to review a result, move its threshold, and label documents.

app            the application of a target; app_target, app_session, app_gate, app_page and app_server belong to it
app_sections   sections: a module with a SECTION adds pages and an entry of the navigation
review         clusters in order of risk, decided by people
workbench      other thresholds, and another result, pair by pair
static         style and scripts: plain files, no build step
"""
