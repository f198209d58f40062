package tabling

// front returns the names of the columns before the value. In SDMX-CSV 2.0 these are the
// structure, the action (I: information) and the dimensions. With several tables the table is a
// dimension, since a cell may be in two of them.
func (w *cellWriter) front() []string {
	s := w.config.SDMX
	if s == nil {
		return append([]string{"table"}, w.variables...)
	}
	names := []string{"STRUCTURE", "STRUCTURE_ID", "ACTION"}
	if len(w.config.Tables) > 1 {
		names = append(names, "TABLE")
	}
	if s.Freq != "" {
		names = append(names, "FREQ")
	}
	if s.TimePeriod != "" {
		names = append(names, "TIME_PERIOD")
	}
	return append(names, w.variables...)
}

// constants returns the contents of the columns before the variables.
func (w *cellWriter) constants(table string) []string {
	s := w.config.SDMX
	if s == nil {
		return []string{table}
	}
	texts := []string{"dataflow", s.Structure, "I"}
	if len(w.config.Tables) > 1 {
		texts = append(texts, table)
	}
	if s.Freq != "" {
		texts = append(texts, s.Freq)
	}
	if s.TimePeriod != "" {
		texts = append(texts, s.TimePeriod)
	}
	return texts
}

// statuses returns the contents of the columns after the value. In SDMX (code lists
// CL_OBS_STATUS and CL_CONF_STATUS) a suppressed value is missing, suppressed (Q) and
// confidential (C), both for primary and for secondary suppression unless the configuration distinguishes
// them; all others are normal (A) and free (F).
func (w *cellWriter) statuses(status string, primary bool) []string {
	switch {
	case w.config.SDMX == nil:
		return []string{status}
	case status == suppressed && !primary:
		return []string{"Q", w.config.SDMX.Secondary}
	case status == suppressed:
		return []string{"Q", "C"}
	}
	return []string{"A", "F"}
}
