package keystream

// testKey returns a key that tests may know: bytes n, n+1, …
func testKey(n byte) Key {
	var secret [KeySize]byte
	for i := range secret {
		secret[i] = n + byte(i)
	}
	k, err := NewKey(secret[:])
	if err != nil {
		panic(err)
	}
	return k
}
