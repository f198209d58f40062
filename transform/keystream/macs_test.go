package keystream

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestMACsTogether: for messages of any length, many at a time, each CBC-MAC equals the last block
// of the library's CBC mode and is returned once.
func TestMACsTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	key := testKey(1).derive("macs", keySize)
	b, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, sizes := range []struct{ n, most int }{
		{0, 1}, {1, 1}, {1, 100}, {7, 60}, {macsAtOnce, 30}, {macsAtOnce + 1, 50}, {3*macsAtOnce + 5, 200}, {40, 20_000},
		{3, 200_000},
	} {
		sums := macs{cipher: newAES(key)}
		for range 2 { // the second run reuses the memory of the first
			want := make([]block, sizes.n)
			given := make([]int, sizes.n)
			put := func(i int, sum *block) {
				given[i]++
				if *sum != want[i] {
					t.Errorf("message %d of %d: %x, want %x", i, sizes.n, *sum, want[i])
				}
			}
			for i := range sizes.n {
				data := make([]byte, r.IntN(sizes.most+1))
				for j := range data {
					data[j] = byte(r.Uint32())
				}
				m := append(message(nil).begin(i+1), data...)
				text := binary.BigEndian.AppendUint64(nil, uint64(len(data)))
				text = append(binary.BigEndian.AppendUint64(text, uint64(i+1)), data...)
				for len(text)%16 != 0 {
					text = append(text, 0)
				}
				cipher.NewCBCEncrypter(b, make([]byte, 16)).CryptBlocks(text, text)
				want[i] = block(text[len(text)-16:])
				if sums.add(m, i) {
					sums.flush(put)
				}
			}
			sums.flush(put)
			for i, times := range given {
				if times != 1 {
					t.Errorf("message %d of %d was handed out %d times", i, sizes.n, times)
				}
			}
		}
	}
}
