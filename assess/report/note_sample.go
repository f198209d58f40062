package report

import (
	"unicode"
	"unicode/utf8"

	"github.com/sdlfilter/sdlfilter/transform"
)

// sampled describes, for a release that is a sample, how its records were drawn, and what that
// means for estimates and for the figures of risk.
func (p *Public) sampled(masks []Mask) []string {
	for i := range p.Masks {
		m := &p.Masks[i]
		kind := transform.PublishingKind(m.Mask)
		if kind == nil {
			continue
		}
		published := p.publishedOf(m, &masks[i], "")
		if _, drawn := kind.PublishedAction(published, "").(transform.Sampling); !drawn {
			continue
		}
		words := kind.Words(published, "")
		first, size := utf8.DecodeRuneInString(words)
		if published.Has("household") {
			return p.sampledHouseholds(string(unicode.ToUpper(first)) + words[size:])
		}
		return []string{
			string(unicode.ToUpper(first)) + words[size:] +
				". Records are drawn independently of one another, so that the number of records is itself random (Bernoulli sampling).",
			"To estimate totals and counts of the file that was drawn from, weight each record by 1 divided by its probability; where the file has weights, divide these by the probability. Means and shares of one probability need no weight; where probabilities differ between strata they do. Standard errors are those of a sample of n records, times √(1 − probability) where the file that was drawn from is the whole population; a total also varies with n.",
			ofSample,
		}
	}
	return nil
}

const ofSample = "Means, variances and what is said of risk and utility are those of the released records: an intruder is taken to know that the respondent is among them."

// sampledHouseholds is sampled for a sample of whole households.
func (p *Public) sampledHouseholds(words string) []string {
	return []string{
		words +
			". Households are drawn independently of one another, so that the numbers of households and of records are themselves random (Bernoulli sampling of clusters).",
		"To estimate totals and counts of the file that was drawn from, weight each record by 1 divided by the probability of its household; where the file has weights, divide these by the probability. Means and shares of one probability need no weight; where probabilities differ between strata they do. Standard errors are those of a sample of households: take the household as the cluster, since its members are alike and were drawn together.",
		ofSample,
	}
}
