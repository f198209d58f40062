package config

// HouseholdColumn returns the column with the household of each respondent: that of the pipeline, or of
// the intruder's uniqueness; "" if neither names one.
func (p *Pipeline) HouseholdColumn() string {
	if in := p.Assess.Intruder; p.Household == "" && in != nil && in.Uniqueness != nil {
		return in.Uniqueness.Household
	}
	return p.Household
}
