package uniqueness

import (
	"math/rand/v2"
	"testing"
)

// Joined k of 1,000,000 records of 250,000 persons by 5 keys, of which one differs between the records of a person;
// without missing keys, and with persons who lack one.
func BenchmarkPersons1M(b *testing.B) {
	for _, c := range []struct {
		name    string
		lacking int
	}{{"whole", 0}, {"lacking", 100}} {
		b.Run(c.name, func(b *testing.B) {
			random := rand.New(rand.NewPCG(21, 22))
			data := Data{Person: make([]int32, 1_000_000)}
			for j := range 5 {
				key := Column{Name: string(rune('a' + j)), Codes: make([]int32, len(data.Person))}
				for i := range key.Codes {
					if data.Person[i] = int32(i % 250_000); i < 250_000 || j == 4 {
						key.Codes[i] = int32(random.IntN([]int{2, 5, 8, 4, 6}[j]))
					} else {
						key.Codes[i] = key.Codes[i-250_000]
					}
				}
				data.Keys, data.Known = append(data.Keys, key), append(data.Known, append([]int32(nil), key.Codes...))
			}
			for i := range c.lacking {
				data.Keys[4].Codes[i*17] = -1
			}
			g := &grouper{workers: 1}
			for b.Loop() {
				p, err := measurePersons(b.Context(), g, &data, &Options{Alpha: 1, Estimator: Approximate}, nil)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(p.MinFrequency, "k")
			}
		})
	}
}
