"""
Mutation testing of the decision modules: does a test notice when a decision is changed?

``python -m tests.mutation`` changes the code in some thousand places, one at a time, and runs the
tests of the core against each change. A change that no test notices has *survived*; each survivor
is either explained in ``survivors.json`` or a test is missing.
"""
