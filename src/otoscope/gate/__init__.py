"""The gate: does a clip hold enough evidence of speech for a model to be asked?"""
