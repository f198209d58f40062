// Package keystream gives reproducible secret random draws. A draw for a release is a pure
// function of (secret key, mask, what was done before, column, record identity, value); a draw
// for a replicate is one of (secret key, mask, column, replicate, place). The generator is
// AES-256 under subkeys that HKDF derives from the release key, so that a snooper who knows
// some true values, and so some draws, learns nothing about the others. docs/keystream.md is
// the versioned specification; testdata/vectors.json and testdata/check_vectors.py test other
// implementations.
//
// Everything here gives the same bits on every platform. Go may fuse a product
// and a sum into one rounding where the machine can, as on arm64; an explicit
// conversion forbids it, which is why every product in this package stands in a
// float64(…). Functions of package math whose last bits differ between
// platforms (Log, Exp and their kin) are not used; log and exp here replace
// them.
//
// What belongs here: keys, subkeys, record identities, raw draws and the
// distribution functions that conditional draws need. What a draw is used for
// belongs to the masks in package transform.
package keystream
