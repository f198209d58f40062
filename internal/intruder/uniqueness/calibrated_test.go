package uniqueness

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// The mean of 1/k over respondents is how often the snooper's best claim is right, if a key is drawn at
// random: here 36 respondents with an exact key and a value of 16 classes, to which noise adds −2 to 2
// classes (skewed and even values, one side and both). The claim is computed here from the law alone: the
// record whose likelihood as i's exceeds most that as another's, who might have it. In 400 releases the
// share of right claims has a standard error, from the 400 shares; both means belong to the same
// releases. The posterior takes the records of the 12 who share an exact key for independent: what is stated
// may be greater than the share by 1/(4·12), and not less than it.
func TestBestClaimIsRightAsOftenAsStated(t *testing.T) {
	const n, values, draws = 36, 16, 400
	for at, noise := range [][]float64{{0.1, 0.2, 0.4, 0.2, 0.1}, {0, 0, 0.3, 0.3, 0.4}, {0.5, 0, 0, 0, 0.5}} {
		random := rand.New(rand.NewPCG(uint64(at), 37))
		law := &Law{Row: make([]int32, n)}
		for x := range values {
			row := make([]float64, values+4)
			for d, p := range noise {
				row[x+d] = p
			}
			law.P = append(law.P, row)
		}
		exact := make([]int32, n)
		for i := range exact {
			exact[i] = int32(i % 3)
			law.Row[i] = int32(math.Pow(random.Float64(), []float64{1, 2, 3}[at]) * values)
		}
		var stated, mean, square float64
		for range draws {
			y := make([]int32, n)
			for i := range y {
				u := random.Float64()
				for d, p := range noise {
					if u -= p; u < 0 {
						y[i] = law.Row[i] + int32(d)
						break
					}
				}
			}
			r, err := Measure(context.Background(), Data{Keys: []Column{{Name: "a", Codes: exact}, {Name: "b", Codes: y}},
				Known: [][]int32{exact, nil}, Laws: []*Law{nil, law}}, Options{Alpha: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range r.SampleFrequency {
				stated += 1 / k / (n * draws)
			}
			share := 0.0
			for i := range y {
				best, tied, right := 0.0, 0.0, 0.0
				for j := range y {
					if exact[j] != exact[i] {
						continue
					}
					others := 0.0
					for s := range y {
						if exact[s] == exact[j] && s != i {
							others += law.P[law.Row[s]][y[j]]
						}
					}
					switch odds := law.P[law.Row[i]][y[j]] / others; {
					case odds > best*(1+1e-12):
						best, tied, right = odds, 1, 0
					case odds > best*(1-1e-12):
						tied++
					default:
						continue
					}
					if j == i {
						right = 1
					}
				}
				share += right / tied / n
			}
			mean += share / draws
			square += share * share / draws
		}
		se := math.Sqrt((square - mean*mean) / draws)
		if stated < mean-3*se || stated > mean+3*se+1.0/48 {
			t.Errorf("noise %v: claims are right with %.4f ± %.4f, stated %.4f", noise, mean, se, stated)
		}
	}
}
