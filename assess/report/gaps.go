package report

import "strings"

// GapWarnings says what a stream has noticed to be missing from its figures.
func (r *Report) GapWarnings() (list []string) {
	say := func(n int64, text string) {
		if n > 0 {
			list = append(list, count(n)+" "+text)
		}
	}
	say(r.Records.Lost,
		"offsets of the source were never read: their records were removed before (retention), or skipped. They are in no release")
	say(r.Records.Repeated,
		"offsets of the source were read again, since the group's offset was set back (or writing failed with at_least_once): readers see the records twice, and the figures count each once")
	say(r.Records.Unassessed,
		"offsets hold records that were released and are in no figure, as the state topic was lost or a topic was made again")
	if len(r.Recreated) > 0 {
		list = append(list, "a new assessment has begun, because the topic was deleted and made again: "+
			strings.Join(r.Recreated, ", ")+". The figures are of the records since then")
	}
	return list
}

// LostWords says that a stream has lost more records than may be lost; "" if it has not.
func (r *Report) LostWords(limit int64) string {
	if r.Records.Lost <= limit {
		return ""
	}
	return count(r.Records.Lost) + " offsets of the source were never read, and gate.max_lost allows " + count(limit)
}
