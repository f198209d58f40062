// Package keystream gives reproducible secret random draws. A draw for a release is a pure
// function of (secret key, mask, what was done before, column, record identity, value); a draw
// for a replicate is one of (secret key, mask, column, replicate, place). The generator is
// AES-256 under subkeys that HKDF derives from the release key, so that a snooper who knows
// some true values, and so some draws, learns nothing about the others. docs/keystream.md is
// the versioned specification; testdata/vectors.json and testdata/check_vectors.py test other
// implementations.
//
// Everything here gives the same bits on every platform. Go may compute a product
// and a sum with one rounding on some machines, as on arm64; an explicit conversion
// forbids it, which is why every product in this package is in a float64(…).
// Functions of package math whose last bits differ between platforms (such as Log
// and Exp) are not used; log and exp here replace them.
//
// This package contains keys, subkeys, record identities, raw draws and the
// distribution functions that conditional draws need. The uses of draws are in the
// masks of package transform.
package keystream
