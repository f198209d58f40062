package rumap

import (
	"math"
	"math/rand/v2"
	"testing"
)

// riskOfMember is R of an intruder who takes the mean of n masked values for the value of a member of
// the sample: n/((n−1)σ² + λ²), Duncan and Keller-McNulty (2000), section 6. Equation (2) of Duncan et
// al. (2004) has n + 1 in the place of n − 1, because its target is another draw from the population.
func riskOfMember(m Noise) float64 {
	n := float64(m.N)
	return n / ((n-1)*m.SD*m.SD + m.Lambda*m.Lambda)
}

// Section 6 says that the mean serves an intruder better than the member's own masked value whenever
// λ² ≥ σ². For a member this is exact, at every n above 1; for another person of the population it is
// λ² > σ²(n+1)/(n−1) (SwitchOver). At n = 1 the two estimates are the same.
func TestMeanOfAMember(t *testing.T) {
	of := value(t)
	for _, n := range []int{2, 3, 177, 1_000_000} {
		for _, sd := range []float64{0.01, 1, 13_300} {
			at := func(share float64) (mean, record float64) {
				m := Noise{N: n, SD: sd, Lambda: sd * math.Sqrt(share)}
				return riskOfMember(m), of(m.RiskOfRecord())
			}
			mean, record := at(1)
			near(t, "R by the mean at λ² = σ²", mean, record, exact)
			if mean, record = at(1.000001); !(mean > record) {
				t.Errorf("n = %d: above σ² the mean is the worse guess, %v and %v", n, mean, record)
			}
			if mean, record = at(0.999999); !(mean < record) {
				t.Errorf("n = %d: below σ² the mean is the better guess, %v and %v", n, mean, record)
			}
			// A member is known better than another person of the population.
			m := Noise{N: n, SD: sd, Lambda: sd}
			if member, other := riskOfMember(m), of(m.RiskOfTypical()); !(member > other) {
				t.Errorf("n = %d: R of a member %v, of another person %v", n, member, other)
			}
		}
	}
	one := Noise{N: 1, SD: 2, Lambda: 3}
	near(t, "R of one record by the mean", riskOfMember(one), of(one.RiskOfRecord()), exact)

	// Against draws; the squared error of a normal deviate has coefficient of variation √2.
	const draws = 50_000
	m := Noise{N: 4, SD: 2, Lambda: 1.5}
	rng := rand.New(rand.NewPCG(6, 0))
	mse := 0.0
	for range draws {
		var target, mean float64
		for i := range m.N {
			x := 7 + m.SD*rng.NormFloat64()
			if i == 0 {
				target = x
			}
			mean += (x + m.Lambda*rng.NormFloat64()) / float64(m.N)
		}
		mse += (target - mean) * (target - mean) / draws
	}
	if want := 1 / riskOfMember(m); !(math.Abs(mse-want) <= 5*want*math.Sqrt(2.0/draws)) {
		t.Errorf("squared error %v, want %v", mse, want)
	}
}

// Section 6.1: from α² > σ²/(k(m−1)) on the mean of all synthetic values serves better than one of them.
// This compares σ² + α² as it is printed (one value around a fixed centre) with the error of the mean
// about a target that is drawn. With the target drawn in both, one value has 2σ² + α² and is never
// better: the two agree at m = k = 1 only, where they are the same value.
func TestMeanOfSyntheticValues(t *testing.T) {
	of := value(t)
	for _, s := range []Synthetic{{Samples: 2, Size: 1, SD: 2}, {Samples: 4, Size: 5, SD: 2},
		{Samples: 50, Size: 1000, SD: 0.1}} {
		at := func(share float64) (mean, printed, record float64) {
			s.MeanSD = s.SD * math.Sqrt(share/float64(s.Size*(s.Samples-1)))
			return of(s.RiskOfMean()), of(s.RiskAroundCentre()), of(s.RiskOfRecord())
		}
		mean, printed, _ := at(1)
		near(t, "R of both at the switch-over", mean, printed, exact)
		if mean, printed, _ = at(1.0001); !(mean > printed) {
			t.Errorf("%+v: above it %v by the mean, %v by one value", s, mean, printed)
		}
		if mean, printed, _ = at(0.9999); !(mean < printed) {
			t.Errorf("%+v: below it %v by the mean, %v by one value", s, mean, printed)
		}
		for _, share := range []float64{0, 0.5, 1, 100} {
			if mean, _, record := at(share); !(mean > record) {
				t.Errorf("%+v: a drawn target is known better by one value, %v, than by the mean, %v", s, record, mean)
			}
		}
	}
	one := Synthetic{Samples: 1, Size: 1, SD: 2, MeanSD: 3}
	near(t, "R of the only value", of(one.RiskOfMean()), of(one.RiskOfRecord()), exact)
}
