package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
)

// placeEntry is the entry of a partition's state that says how far of which topic the assessment
// covers, and what is missing from it. Earlier versions kept none.
const placeEntry = "place"

// placeVersion is the version of the entry's format.
const placeVersion = 1

// keptPlace is the content of the entry. Its numbers are of offsets of the source's partition, some of
// which may hold no record (markers, compaction).
type keptPlace struct {
	Version int    `json:"version"`
	TopicID string `json:"topic_id,omitempty"` // KIP-516; "" if the brokers give none
	Epoch   int32  `json:"epoch"`              // leader epoch of the last record; -1: not known
	Next    int64  `json:"next"`               // offset of the first record that was not read
	Begun   int    `json:"begun,omitempty"`    // how often the assessment has begun anew because the topic was made again

	Lost       int64 `json:"lost,omitempty"`       // never read: removed before, or skipped
	Repeated   int64 `json:"repeated,omitempty"`   // read again: the offset was set back, or writing failed
	Unassessed int64 `json:"unassessed,omitempty"` // released, and in no figure
}

// readPlace reads the entry; known is false if there is none.
func readPlace(text []byte) (p keptPlace, known bool, err error) {
	if len(text) == 0 {
		return keptPlace{Version: placeVersion, Epoch: -1}, false, nil
	}
	if json.Unmarshal(text, &p) != nil || p.Next < 0 || min(p.Lost, p.Repeated, p.Unassessed) < 0 || p.Begun < 0 {
		return p, false, errors.New("the place that is kept is damaged")
	}
	if p.Version != placeVersion {
		return p, false,
			fmt.Errorf("the place that is kept has version %d, this program reads version %d", p.Version, placeVersion)
	}
	return p, true, nil
}

// gap is how a partition that is taken up differs from what is kept of it.
type gap struct {
	anew string // why the assessment cannot go on: the topic is another one; "": it can
	at   int64  // where reading must begin then
	move bool   // at is not the group's offset

	lost, repeated, unassessed int64
}

// compare compares what is kept with what is there. again: records may come again after a crash, without
// transactions.
func (k keptPlace) compare(a kafka.Arrival, again bool) (g gap) {
	same := k.TopicID != "" && k.TopicID == a.TopicID
	end, known := a.End, false
	if same && k.Epoch >= 0 && a.EpochEnd != nil {
		if end, known = a.EpochEnd(k.Epoch); !known {
			end = a.End
		}
	}
	switch {
	case k.TopicID != "" && a.TopicID != "" && !same:
		g.anew = fmt.Sprintf("the topic was deleted and made again: its id was %s and is %s", k.TopicID, a.TopicID)
		// An offset that a member has reached is of the old topic.
		g.at, g.move = a.First, a.Reached && a.Next != a.First
	case end < k.Next:
		g.anew = fmt.Sprintf(
			"the topic was made again or has lost its last records: offsets below %d were read, and it ends at %d now", k.Next,
			end)
		g.at = min(end, a.End)
		g.move = a.Next > g.at
		if same {
			g.repeated = max(0, g.at-a.Next)
		}
	case !same && a.Next < k.Next && !again:
		g.anew = fmt.Sprintf(
			"the topic was made again, or the group's offset was set back: offsets below %d were read, and the group is at %d (the id of the topic is not known)", k.Next, a.Next)
	case a.Next < k.Next:
		g.repeated = k.Next - a.Next
	case a.Reached:
		g.unassessed = a.Next - k.Next
	default:
		g.lost = a.Next - k.Next
	}
	return g
}

// gapOf compares a partition with what is kept of it.
func (s *stream) gapOf(k *keptStanding, a kafka.Arrival, known, stale bool) gap {
	sink, _ := s.config.Sink.Config.(*kafka.SinkConfig)
	return s.gapFrom(k, a, known, stale, sink != nil && sink.RepeatsAfterCrashes())
}

func (f *inForce) gapFrom(k *keptStanding, a kafka.Arrival, known, stale, again bool) gap {
	if !known && !stale && k.next() > 0 { // the state is of an earlier version
		k.place.Next, known = f.offsetOf(k.next()), true
	}
	switch {
	case known:
		return k.place.compare(a, again)
	case stale || !f.measures || !a.Reached:
		return gap{}
	}
	return gap{unassessed: max(0, a.Next-a.First)}
}

func (f *inForce) offsetOf(place int64) int64 {
	if f.source == nil {
		return place
	}
	return f.source.Offset(place)
}

// printOf is the fingerprint of a partition's assessment that has begun anew so many times.
func (f *inForce) printOf(begun int) string {
	if begun == 0 {
		return f.fingerprint
	}
	return fmt.Sprintf("%s %d", f.fingerprint, begun)
}

// settleGap takes the difference between a partition and what is kept of it into account. If it is
// another topic, the stream ends, or a new assessment begins.
func (s *stream) settleGap(p kafka.Partition, k *keptStanding, a kafka.Arrival, g gap, entries map[string][]byte) (
	_ *keptStanding, err error) {
	if g.anew != "" {
		if k, err = s.beginAnew(p, k, g, entries); err != nil {
			return nil, err
		}
	}
	k.place.Lost += g.lost
	k.place.Repeated += g.repeated
	k.place.Unassessed += g.unassessed
	k.place.Next, k.place.TopicID = a.Next, a.TopicID
	warn := func(records int64, text string) {
		if records > 0 {
			s.options.Log.Warn().Str("topic", p.Topic).Int32("partition", p.Number).Int64("records", records).Msg(text)
		}
	}
	warn(g.lost, "the group's offset was set forward: the records in between were not read, and are in no release")
	warn(g.repeated,
		"the group's offset was set back, or writing failed with at_least_once: the records from there on are read and released again, and counted once")
	warn(g.unassessed,
		"the group's offset is ahead of the assessment that is kept: the records in between were released and are in no total (was the state topic lost?)")
	return k, nil
}

// beginAnew begins a new assessment of a partition, if the configuration says so.
func (s *stream) beginAnew(p kafka.Partition, k *keptStanding, g gap, entries map[string][]byte) (*keptStanding,
	error) {
	source := s.config.Source.Config.(*kafka.SourceConfig)
	if source.OnRecreated != kafka.BeginAnew {
		return nil,
			&kafka.FinalError{
				Text: g.anew +
					"; its records would be taken for those that are assessed already, and the gate would not see them. Nothing of it was read. source.kafka.on_recreated: begin begins a new assessment of respondents with an identity; otherwise take another key and a group of another name"}
	}
	if g.move {
		return nil, &kafka.Restart{At: g.at}
	}
	next, err := s.loadStanding(entries, k.place.Begun+1) // its entries will replace those that are there
	if err != nil {
		return nil, err
	}
	released := k.counts().Released
	next.place = k.place
	next.place.Begun++
	next.place.Epoch = -1
	next.place.Unassessed += released
	s.options.Log.Warn().Str("topic", p.Topic).Int32("partition", p.Number).Int64("released_before", released).Int("begun",
		next.place.Begun).
		Msg("a new assessment of the partition begins: " + g.anew)
	return next, nil
}

// keepPlace returns the entry to be stored with the transaction that reads a partition up to an offset.
func (s *stream) keepPlace(p kafka.Partition, k *keptStanding, next int64) ([]byte, error) {
	place := k.place
	passed, _ := s.kafka.Lost(p)
	place.Version, place.Next = placeVersion, next
	place.Lost += passed
	if epoch, known := s.kafka.Epoch(p); known {
		place.Epoch = epoch
	}
	return json.Marshal(place)
}

// gaps returns what is missing from the figures of a partition.
func (s *stream) gaps(p kafka.Partition, k *keptStanding) report.Records {
	r := k.place.gaps()
	if s.kafka != nil {
		passed, ahead := s.kafka.Lost(p)
		r.Lost += passed + ahead
	}
	return r
}

func (k keptPlace) gaps() report.Records {
	return report.Records{Lost: k.Lost, Repeated: k.Repeated, Unassessed: k.Unassessed}
}

// begun names the partitions whose assessment has begun anew.
func (s *stream) begun() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.partitions() {
		if s.standings[p].place.Begun > 0 {
			names = append(names, p.String())
		}
	}
	return names
}

// showGaps tells the monitor what is missing from the figures.
func (s *stream) showGaps() {
	if s.options.Monitor == nil {
		return
	}
	var r report.Records
	begun := 0
	s.mu.Lock()
	for p, k := range s.standings {
		r = account.Sum(r, s.gaps(p, k))
		begun += k.place.Begun
	}
	s.mu.Unlock()
	s.options.Monitor.Gaps(r.Lost, r.Repeated, r.Unassessed, int64(begun))
}

// reportGaps adds to a report the partitions that have begun anew, and warnings of what is missing.
func reportGaps(rep *report.Report, begun []string) {
	rep.Recreated = slices.Clone(begun)
	rep.Warnings = append(rep.Warnings, rep.GapWarnings()...)
}
