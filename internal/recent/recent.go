// Package recent gives each text its place in a small cache, for columns with few different texts:
// codes and categories. A look into the cache and a comparison take less time than a map.
package recent

// Slots is the number of places of such a cache.
const Slots = 256

// Slot returns the place of a text, below Slots. Codes mostly differ in length or at their ends;
// texts that differ only in the middle have the same place.
func Slot[T string | []byte](text T) uint8 {
	n := len(text)
	slot := uint8(n)
	if n > 1 {
		slot += 7*text[0] + 31*text[n-1] + 101*text[n-2]
	} else if n == 1 {
		slot += 38 * text[0]
	}
	return slot
}
