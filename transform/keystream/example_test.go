package keystream_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// A draw that leaves is a function of the key, of what it is for, of the record and of
// the value that is masked. It does not matter which records are drawn for together, or
// in which order.
func ExampleKey_Release() {
	key, err := keystream.NewKey(bytes.Repeat([]byte("0123456789abcdef"), 2)) // in earnest: keystream.Generate()
	if err != nil {
		log.Fatal(err)
	}
	stream := key.Release(keystream.Name{Mask: "noise#1", Column: "wage"})

	wages := []float64{1200, 950, 3100}
	together, alone := make([]float64, 3), make([]float64, 1)
	stream.Normals(together, keystream.Records{First: 0, Values: wages})
	stream.Normals(alone, keystream.Records{First: 2, Values: wages[2:]})
	fmt.Printf("record 2: %.4f in a run of three, %.4f by itself\n", together[2], alone[0])

	stream.Normals(alone, keystream.Records{First: 2, Values: []float64{3101}})
	fmt.Printf("record 2 with another value: %.4f\n", alone[0])
	fmt.Println("the key prints as", key)
	// Output:
	// record 2: 0.7617 in a run of three, 0.7617 by itself
	// record 2 with another value: -0.5760
	// the key prints as [secret]
}
