"""One module a question: pure functions from the model to small frozen results."""
