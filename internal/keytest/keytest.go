// Package keytest has the keys of tests. A test whose outcome hangs on draws fails under some keys, and so
// under a random one once in a while: its key is fixed.
package keytest

import (
	"crypto/sha256"
	"fmt"

	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Key returns the key number n.
func Key(n int) keystream.Key {
	secret := sha256.Sum256(fmt.Appendf(nil, "the key of a test, number %d", n))
	key, err := keystream.NewKey(secret[:])
	if err != nil {
		panic(err) // only for 32 equal bytes
	}
	return key
}
