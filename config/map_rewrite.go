package config

// Rewritten returns the text of the configuration file with the masks of a
// strategy and the values that were chosen for its axes, by path; everything
// else stands as it stands.
func (p *Pipeline) Rewritten(strategy string, values map[string]float64) ([]byte, error) {
	return nil, p.Errorf("map", "cannot be applied yet")
}
