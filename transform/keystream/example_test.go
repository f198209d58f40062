package keystream_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// A released draw is a function of the key, its purpose, the record and the masked value. It does
// not depend on which records are drawn together, or in which order.
func ExampleKey_Release() {
	key, err := keystream.NewKey(bytes.Repeat([]byte("0123456789abcdef"), 2)) // in production: keystream.Generate()
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
