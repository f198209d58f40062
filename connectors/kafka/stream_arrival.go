package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Arrival is what is known of a partition when this member takes it up. All offsets are of the
// source's partition.
type Arrival struct {
	Next    int64  // of the next record, by the group's offset
	First   int64  // of the first record that is left
	End     int64  // behind the last record
	TopicID string // which a topic that is made anew does not keep (KIP-516); "" if the brokers give none
	Reached bool   // Next was committed together with records, and was not set by hand or at a start
	// EpochEnd asks where the records of a leader epoch end now; ok is false if that is not known. It
	// lies before the end that a reader has seen if the partition has lost its last records.
	EpochEnd func(epoch int32) (end int64, ok bool)
}

// Restart is the error with which Enter demands that a partition is read from another offset than the
// group's. The offset is committed, and the member joins anew.
type Restart struct{ At int64 }

func (e *Restart) Error() string { return fmt.Sprintf("it is read from offset %d", e.At) }

// lookEvery is how often a stream looks whether its topics are still the same, what their first and
// last records are, and whether there are new partitions.
const lookEvery = 5 * time.Second

// arrivals asks what is known of partitions that are taken up at the given offsets.
func (s *Stream) arrivals(ctx context.Context, of []Partition, at map[Partition]int64) (map[Partition]Arrival, error) {
	return arrivals(ctx, s.client, s.config.Log, s.config.Source.groupName(s.config.Name), of, at)
}

// GroupArrivals is what is known now of the partitions for which a group has an offset and that the
// configuration reads. Next is that offset.
func GroupArrivals(ctx context.Context, c *SourceConfig, pipeline string, log zerolog.Logger) (map[Partition]Arrival,
	error) {
	client, err := c.connect(log)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	topics, err := c.resolve(ctx, admin, log)
	if err != nil {
		return nil, err
	}
	at, err := committed(ctx, admin, log, c.groupName(pipeline))
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(at, func(p Partition, _ int64) bool {
		return !slices.ContainsFunc(topics, func(t topic) bool { return t.name == p.Topic && p.Number < t.partitions })
	})
	all, err := arrivals(ctx, client, log, c.groupName(pipeline), slices.Collect(maps.Keys(at)), at)
	for p, a := range all {
		a.EpochEnd = nil // the connection is closed
		all[p] = a
	}
	return all, err
}

func arrivals(ctx context.Context, client *kgo.Client, log zerolog.Logger, group string, of []Partition,
	at map[Partition]int64) (map[Partition]Arrival, error) {
	admin, topics := kadm.NewClient(client), topicsOf(of)
	if len(topics) == 0 {
		return nil, nil
	}
	ids, err := topicIDs(ctx, client, topics)
	if err != nil {
		return nil, err
	}
	firsts, err := offsets(ctx, log, "asking for the first offsets", topics, admin.ListStartOffsets)
	if err != nil {
		return nil, err
	}
	ends, err := offsets(ctx, log, "asking for the last offsets", topics, admin.ListEndOffsets)
	if err != nil {
		return nil, err
	}
	committed, err := admin.FetchOffsetsForTopics(ctx, group, topics...)
	if err != nil {
		return nil, explain(err, "asking for the group's offsets", subject{group: group})
	}
	all := map[Partition]Arrival{}
	for _, p := range of {
		o, known := committed.Lookup(p.Topic, p.Number)
		all[p] = Arrival{
			Next: at[p], First: firsts[p], End: ends[p], TopicID: ids[p.Topic],
			// The client writes the member's id beside the offset of what it has read. Who sets an offset, and
			// a start, writes nothing.
			Reached:  known && o.Err == nil && o.At == at[p] && o.Metadata != "",
			EpochEnd: func(epoch int32) (int64, bool) { return epochEnd(ctx, admin, p, epoch) },
		}
	}
	return all, nil
}

// topicIDs returns the ids of topics. Topics of brokers that give none are left out. The brokers are
// asked, not what the client has remembered.
func topicIDs(ctx context.Context, client *kgo.Client, names []string) (map[string]string, error) {
	const what = "asking for the ids of topics"
	request := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		request.Topics = append(request.Topics, t)
	}
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return nil, explain(err, what, subject{right: "Describe"})
	}
	ids := map[string]string{}
	for _, t := range answer.Topics {
		if t.Topic != nil && t.TopicID != [16]byte{} {
			ids[*t.Topic] = kadm.TopicID(t.TopicID).String()
		}
	}
	return ids, nil
}

// epochEnd returns where the records of a leader epoch end.
func epochEnd(ctx context.Context, admin *kadm.Client, p Partition, epoch int32) (int64, bool) {
	if epoch < 0 {
		return 0, false
	}
	var request kadm.OffsetForLeaderEpochRequest
	request.Add(p.Topic, p.Number, epoch)
	answer, err := admin.OffsetForLeaderEpoch(ctx, request)
	o, known := answer[p.Topic][p.Number]
	if err != nil || !known || o.Err != nil || o.EndOffset < 0 || o.LeaderEpoch < 0 {
		return 0, false
	}
	return o.EndOffset, true
}

func topicsOf(partitions []Partition) []string {
	names := map[string]bool{}
	for _, p := range partitions {
		names[p.Topic] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// enter calls Enter. If the partition is to be read from another offset, that offset becomes the
// group's, and the error is one after which the member joins anew.
func (s *Stream) enter(ctx context.Context, p Partition, a Arrival, kept map[string][]byte) error {
	err := s.config.Enter(p, a, kept)
	var restart *Restart
	if !errors.As(err, &restart) {
		return err
	}
	if err := s.commitStarts(ctx, s.client, map[Partition]int64{p: restart.At}); err != nil {
		return err
	}
	return errAnew
}

// errAnew is the error of a member that must join anew because a partition is not what it was.
var errAnew = errors.New("a partition of the source begins at another offset now")

// arriving forgets what was known of partitions, in a new membership.
func (s *Stream) arriving() {
	s.ids, s.epochs = map[string]string{}, map[Partition]int32{}
	s.gone, s.lost, s.lostBefore = map[Partition]int64{}, map[Partition]int64{}, map[Partition]int64{}
	s.lookedAt = time.Now()
}

// arrived notes what the counting of lost records rests on.
func (s *Stream) arrived(p Partition, a Arrival) {
	s.ids[p.Topic] = a.TopicID
	s.lost[p], s.lostBefore[p] = 0, 0
	delete(s.gone, p)
	s.removed(p, a.First)
}

// removed notes that the records of a partition before an offset have been removed. If some were not
// read it says so once.
func (s *Stream) removed(p Partition, first int64) {
	before := max(s.gone[p], s.at[p])
	if first <= before {
		return
	}
	s.gone[p] = first
	s.config.Log.Warn().Str("topic", p.Topic).Int32("partition", p.Number).Int64("records", first-before).
		Msg("records were removed from the source before they were read (retention): they are lost, and in no release")
}

// Lost returns how many offsets of a partition were removed before they were read: those that reading
// has passed since the partition was entered, the open transaction included, and those that are still
// before it. Some of these offsets may have held no record (markers, compaction).
func (s *Stream) Lost(p Partition) (passed, ahead int64) {
	return s.lost[p], max(0, s.gone[p]-s.at[p])
}

// Epoch returns the leader epoch of the last record that was polled of a partition.
func (s *Stream) Epoch(p Partition) (epoch int32, known bool) {
	epoch, known = s.epochs[p]
	return epoch, known
}

// passOver counts what is missing between the offset that a partition was read up to and the next
// record. Gaps of compaction and of aborted transactions lie behind the partition's first record, and
// nothing is lost there.
func (s *Stream) passOver(p Partition, to, first int64) {
	if first > s.at[p] {
		s.removed(p, min(first, to))
	}
	s.lost[p] += max(0, min(to, max(first, s.gone[p]))-s.at[p])
}

// look finds out from time to time what no record says: whether a topic was made anew, whether records
// have been removed that were not read, and how many are left to read. Nothing depends on an answer that
// does not come.
func (s *Stream) look(ctx context.Context) error {
	if time.Since(s.lookedAt) < lookEvery || len(s.entered) == 0 {
		return nil
	}
	s.lookedAt = time.Now()
	owned := slices.SortedFunc(maps.Keys(s.Owned()), comparePartitions)
	owned = slices.DeleteFunc(owned, func(p Partition) bool { return s.entered[p] == 0 })
	if len(owned) == 0 {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, lagPatience)
	defer cancel()
	admin, topics := kadm.NewClient(s.client), topicsOf(owned)
	ids, err := topicIDs(asking, s.client, topics)
	if err != nil {
		return nil // it is asked again
	}
	for _, name := range topics {
		if was, is := s.ids[name], ids[name]; was != "" && is != "" && was != is {
			s.config.Log.Warn().Str("topic", name).Msg("the topic was deleted and made again")
			return errAnew
		}
	}
	starts, err := admin.ListStartOffsets(asking, topics...)
	if err == nil {
		for _, p := range owned {
			if o, known := starts.Lookup(p.Topic, p.Number); known && o.Err == nil {
				s.removed(p, o.Offset)
			}
		}
	}
	s.watchLag(ctx, owned)
	return nil
}

// anew reports whether an error of reading says that a topic or a partition is not what it was: the
// client itself would go on at another offset, or not at all.
func anew(err error) bool {
	var loss *kgo.ErrDataLoss
	return errors.As(err, &loss) || errors.Is(err, kerr.UnknownTopicID) || errors.Is(err, kerr.InconsistentTopicID)
}
