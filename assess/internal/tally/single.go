package tally

// Add counts values, which are finite, each as one record.
func (t *Tally) Add(values []float64) { t.add(values, 1) }
