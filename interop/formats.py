def cases():
    yield from ()
