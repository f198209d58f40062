package inversion

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

// An intruder computes from the released values how far a correlation allows them to be exchanged: the values
// of a heap are certain with the same probability as with the corresponding share of the records as
// parameter, and with a smaller probability for a smaller correlation.
func TestRankWindowOfACorrelation(t *testing.T) {
	y := make([]float64, 1000) // 300 zeros, then 700 values up to 700
	for i := 300; i < len(y); i++ {
		y[i] = float64(i - 299)
	}
	a := &attacker{grid: 1}
	certain := func(m transform.RankExchange) float64 {
		p := make([]float64, len(y))
		for i := range p {
			p[i] = 1
		}
		a.rankLink(m).certain(y, p)
		return p[7]
	}
	reach := transform.CorrelatedReach(y, 0, 0, len(y), 0.99)
	near, given := certain(transform.RankExchange{P: 1, Correlation: 0.99}),
		certain(transform.RankExchange{P: float64(reach) / 1000})
	if reach < 10 || reach > 250 || near != given || !(near > 0 && near < 1) {
		t.Errorf("reach %d: certain with probability %v, and %v with that share", reach, near, given)
	}
	if far := certain(transform.RankExchange{P: 1, Correlation: 0.98}); !(far < near) {
		t.Errorf("probability %v with a smaller correlation, %v with a greater one", far, near)
	}
	if most := certain(transform.RankExchange{P: 0.01, Correlation: 0.99}); !(most > near) {
		t.Errorf("probability %v where p allows less, %v without", most, near)
	}
	if none := certain(transform.RankExchange{P: 1}); none != 0 {
		t.Errorf("probability %v if values come from anywhere", none)
	}
}
