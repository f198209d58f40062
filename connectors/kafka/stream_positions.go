package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// lastWord is how long the brokers may take to answer that a transaction is aborted, when
// everything else has been given up.
const lastWord = 2 * time.Second

func (s *Stream) onAssigned(_ context.Context, client *kgo.Client, m map[string][]int32) {
	s.member.Store(client)
	s.mu.Lock()
	s.assignedAt = time.Now()
	for topic, numbers := range m {
		for _, n := range numbers {
			s.assigned++
			s.owned[Partition{Topic: topic, Number: n}] = s.assigned
		}
	}
	s.mu.Unlock()
	s.config.Watch.Rebalance()
}

// onRevoked does not see every revocation: between the ends of two transactions the session
// passes on only the first.
func (s *Stream) onRevoked(_ context.Context, _ *kgo.Client, m map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(m)
}

func (s *Stream) drop(m map[string][]int32) {
	for topic, numbers := range m {
		for _, n := range numbers {
			delete(s.owned, Partition{Topic: topic, Number: n})
		}
	}
}

// onLost is called when the group has excluded this member, before it joins again. Until it
// gets new partitions it does not know which ones it has.
func (s *Stream) onLost(_ context.Context, _ *kgo.Client, m map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(m)
	s.assignedAt = time.Time{}
}

// Owned returns the partitions that this member reads, each with a number that changes
// whenever it is assigned again: others may have read it meanwhile.
func (s *Stream) Owned() map[Partition]int {
	owned, _ := s.positions()
	return owned
}

// positions returns the partitions that this member reads, as Owned does, and
// where it began in them or has committed last. The client is asked, which has
// both for just as long as it reads a partition.
func (s *Stream) positions() (owned map[Partition]int, at map[Partition]int64) {
	at = map[Partition]int64{}
	for topic, partitions := range s.client.CommittedOffsets() {
		for n, o := range partitions {
			at[Partition{Topic: topic, Number: n}] = o.Offset
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, assignment := range s.owned {
		if _, reads := at[p]; !reads && s.entered[p] == assignment {
			delete(s.owned, p) // it has been revoked
		}
	}
	owned = maps.Clone(s.owned)
	maps.DeleteFunc(owned, func(p Partition, _ int) bool { _, reads := at[p]; return !reads })
	return owned, at
}

// unread reports whether a partition has been assigned that the client does not
// read.
func (s *Stream) unread(p Partition) bool {
	_, at := s.positions()
	s.mu.Lock()
	defer s.mu.Unlock()
	_, mine := s.owned[p]
	_, reads := at[p]
	return mine && !reads
}

// show tells the observer what has been assigned, where that has changed.
func (s *Stream) show(owned map[Partition]int) {
	if maps.Equal(owned, s.reported) && s.reported != nil {
		return
	}
	s.reported = owned
	byTopic := map[string][]int32{}
	for _, p := range slices.SortedFunc(maps.Keys(owned), comparePartitions) {
		byTopic[p.Topic] = append(byTopic[p.Topic], p.Number)
	}
	s.config.Watch.Assigned(byTopic)
}

// EnterError is an error of StreamConfig.Enter: one of the caller's own, and not
// of the connection.
type EnterError struct {
	Partition Partition
	Err       error
}

func (e *EnterError) Error() string { return fmt.Sprintf("taking up %s: %v", e.Partition, e.Err) }

// Unwrap returns the cause.
func (e *EnterError) Unwrap() error { return e.Err }

// EnterAssigned calls Enter for partitions that have been assigned since it was
// last called.
func (s *Stream) EnterAssigned(ctx context.Context) error {
	owned, at := s.positions()
	defer s.show(owned)
	var fresh []Partition
	for p, assignment := range owned {
		if s.entered[p] != assignment {
			fresh = append(fresh, p)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	slices.SortFunc(fresh, comparePartitions)
	if err := s.fit(ctx, fresh); err != nil {
		return err
	}
	states, err := s.states(ctx, fresh)
	if err != nil {
		return err
	}
	arrivals, err := s.arrivals(ctx, fresh, at)
	if err != nil {
		return err
	}
	for _, p := range fresh {
		s.at[p], s.committed[p] = at[p], at[p]
		s.arrived(p, arrivals[p])
		switch err := s.enter(ctx, p, arrivals[p], states[StateOf{s.config.Name, p}]); {
		case errors.Is(err, errAnew):
			return err
		case err != nil:
			return &EnterError{p, err}
		}
		s.entered[p] = owned[p]
	}
	s.show(owned)
	s.watchLag(ctx, fresh)
	return nil
}

// Reenter makes the next Next call Enter again for every partition.
func (s *Stream) Reenter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.entered)
}

// fit demands of partitions that have come since the stream was opened what
// OpenStream demands: that there is a partition for what is released of them.
func (s *Stream) fit(ctx context.Context, partitions []Partition) error {
	if s.config.Sink == nil {
		return nil
	}
	for _, p := range partitions {
		i := slices.IndexFunc(s.topics, func(t topic) bool { return t.name == p.Topic })
		if i >= 0 && p.Number < s.topics[i].partitions {
			continue
		}
		wide := topic{p.Topic, p.Number + 1}
		if _, err := s.config.Sink.checkTopics(ctx, kadm.NewClient(s.client), s.config.Log, []topic{wide}); err != nil {
			return err
		}
		if i < 0 {
			s.topics = append(s.topics, wide)
		} else {
			s.topics[i] = wide
		}
	}
	return nil
}

// Settled reports whether the group has told this member its partitions and Enter has been
// called for them.
func (s *Stream) Settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.assignedAt.IsZero() {
		return false
	}
	for p, assignment := range s.owned {
		// A partition that was revoked before Enter was called may still be here; see onRevoked.
		if s.entered[p] != assignment && time.Since(s.assignedAt) < sessionTimeout {
			return false
		}
	}
	return true
}

// At returns the offset of the partition's next record, which the open transaction has not
// read; ok is false if it has read nothing of the partition.
func (s *Stream) At(p Partition) (next int64, ok bool) {
	next, ok = s.at[p]
	return next, ok && next != s.committed[p]
}

// Finished reports whether a bounded stream has come to its end.
func (s *Stream) Finished() bool {
	if s.ends == nil {
		return false
	}
	for p, end := range s.ends {
		if s.at[p] < end {
			return false
		}
	}
	return s.Settled()
}

// lookAhead finds out whether a bounded stream has reached its end if no more records come: in
// partitions that hold no more, and in those of other members. A stream that is told to end
// does not wait for the answer: nothing is read then.
func (s *Stream) lookAhead(ctx context.Context) error {
	if s.ends == nil {
		return nil
	}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.draining, stop)()
	err := s.askAhead(asking)
	if ctx.Err() == nil && asking.Err() != nil {
		return nil
	}
	return err
}

func (s *Stream) askAhead(ctx context.Context) error {
	owned := s.Owned()
	if err := s.learn(ctx, owned); err != nil {
		return err
	}
	rest := tails{s.client, kadm.NewClient(s.client), s.config.Log}
	for p, end := range s.ends {
		at := s.at[p]
		if at >= end {
			continue
		}
		if assignment, mine := owned[p]; mine {
			if s.entered[p] != assignment {
				continue // where it begins is not known yet
			}
		} else if before, known := s.lastLook[p]; !known || before != at {
			s.lastLook[p] = at // the other one gets on
			continue
		}
		next, err := rest.beyond(ctx, p, at, end)
		if errors.Is(err, kerr.OffsetOutOfRange) {
			// What was to be read there has been deleted.
			var first map[Partition]int64
			first,
				err = offsets(ctx, s.config.Log, "asking for the first offsets", []string{p.Topic}, rest.admin.ListStartOffsets)
			next = min(max(at, first[p]), end)
			if _, mine := owned[p]; mine && err == nil {
				s.removed(p, first[p])
				s.lost[p] += next - at
				s.lostBefore[p] = s.lost[p]
			}
		}
		if err != nil {
			return err
		}
		s.at[p], s.committed[p] = next, next
	}
	return nil
}

// learn asks how far the group has come in the partitions that a bounded stream
// leaves to other members.
func (s *Stream) learn(ctx context.Context, owned map[Partition]int) error {
	var topics []string
	for p, end := range s.ends {
		if _, mine := owned[p]; !mine && s.at[p] < end && !slices.Contains(topics, p.Topic) {
			topics = append(topics, p.Topic)
		}
	}
	if len(topics) == 0 {
		return nil
	}
	offsets, err := kadm.NewClient(s.client).FetchOffsetsForTopics(ctx, s.config.Source.groupName(s.config.Name),
		topics...)
	if err != nil {
		if Final(err) {
			return explainError(err, "asking for the group's offsets")
		}
		return nil // it is asked again
	}
	offsets.Each(func(o kadm.OffsetResponse) {
		p := Partition{Topic: o.Topic, Number: o.Partition}
		if _, mine := owned[p]; !mine && o.Err == nil && o.At > s.at[p] {
			s.at[p], s.committed[p] = o.At, o.At
		}
	})
	return nil
}

// pin commits the starting offset of a partition for which the group has none, before anything
// is read. A moment later `start` may mean another offset, after an abort or a crash, and the
// client itself would begin at offset 0.
func (s *Stream) pin(start kgo.Offset) func(context.Context, map[string]map[int32]kgo.Offset) (
	map[string]map[int32]kgo.Offset, error) {
	return func(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
		var topics []string
		for name, partitions := range offsets {
			for _, o := range partitions {
				if o == start && !slices.Contains(topics, name) {
					topics = append(topics, name)
				}
			}
		}
		if len(topics) == 0 {
			return offsets, nil
		}
		client := s.member.Load()
		starts, err := s.config.Source.laterStarts(ctx, kadm.NewClient(client), s.config.Log, topics)
		if err != nil {
			return nil, err
		}
		pinned := map[Partition]int64{}
		for name, partitions := range offsets {
			for n, o := range partitions {
				p := Partition{Topic: name, Number: n}
				at, known := starts[p]
				switch {
				case o != start:
				case !known:
					return nil, fmt.Errorf("asking for the offsets to start at: %w", kerr.UnknownTopicOrPartition)
				default:
					partitions[n], pinned[p] = kgo.NewOffset().At(at), at
				}
			}
		}
		return offsets, s.commitStarts(ctx, client, pinned)
	}
}

// pinLatest commits the present ends of all partitions if the group has no offset yet and `start` is
// latest. So `latest` means one moment for all partitions, those of members that come later and those
// without records included; a partition without an offset has appeared later. Once the group has
// members, one of them has done it.
func (s *Stream) pinLatest(ctx context.Context, client *kgo.Client, admin *kadm.Client) error {
	c, log := s.config.Source, s.config.Log
	if milli, err := c.start(); err != nil || milli != atEnd {
		return err
	}
	group, err := committed(ctx, admin, log, c.groupName(s.config.Name))
	if err != nil || len(group) > 0 {
		return err
	}
	ends, err := c.startOffsets(ctx, admin, log, s.topicNames())
	if err != nil {
		return err
	}
	return persist(ctx, log, "committing the offsets to start at", func(ctx context.Context) error {
		err := s.commitAs(ctx, client, nil, ends)
		if errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.IllegalGeneration) ||
			errors.Is(err, kerr.RebalanceInProgress) {
			return nil // it has members
		}
		return err
	})
}

// commitStarts commits offsets outside of any transaction, as the member that client is.
func (s *Stream) commitStarts(ctx context.Context, client *kgo.Client, starts map[Partition]int64) error {
	var instance *string
	if s.config.Source.Instance != "" {
		instance = &s.config.Source.Instance
	}
	return s.commitAs(ctx, client, instance, starts)
}

// commitAs is commitStarts under the name of an instance; nil if it has none, or if the group has no
// members.
func (s *Stream) commitAs(ctx context.Context, client *kgo.Client, instance *string, starts map[Partition]int64) error {
	const what = "committing the offsets to start at"
	byTopic := map[string][]Partition{}
	for p := range starts {
		byTopic[p.Topic] = append(byTopic[p.Topic], p)
	}
	details, err := kadm.NewClient(client).ListTopics(ctx, slices.Collect(maps.Keys(byTopic))...)
	if err != nil {
		return explainError(err, what)
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = s.config.Source.groupName(s.config.Name)
	req.MemberID, req.Generation = client.GroupMetadata()
	req.InstanceID = instance
	for name, partitions := range byTopic {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.TopicID = name, details[name].ID
		for _, of := range partitions {
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset = of.Number, starts[of]
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	answer, err := req.RequestWith(ctx, client)
	if err != nil {
		return explainError(err, what)
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			err = errors.Join(err, kerr.ErrorForCode(p.ErrorCode))
		}
	}
	return explain(err, what, subject{right: "Read", group: req.Group})
}

// verifyAborted returns an error unless the group's offsets are still those from
// before the transaction that has just been ended without being committed: where a
// broker has answered the commit with an error of its own, the client takes it for
// aborted, and it need not be.
func (s *Stream) verifyAborted(ctx context.Context) error {
	var topics []string
	for p := range s.at {
		if _, read := s.At(p); read && !slices.Contains(topics, p.Topic) {
			topics = append(topics, p.Topic)
		}
	}
	if len(topics) == 0 {
		return nil
	}
	// Where it is still open, the broker aborts it when it is asked for the
	// producer's id.
	if _, _, err := s.client.ProducerID(ctx); err != nil {
		return err
	}
	var offsets kadm.OffsetResponses
	err := error(kerr.UnstableOffsetCommit)
	for try := 1; errors.Is(err, kerr.UnstableOffsetCommit) && ctx.Err() == nil; try++ {
		if try > 1 { // the markers of the abort are being written
			time.Sleep(min(backoff(try), time.Second))
		}
		offsets,
			err = kadm.NewClient(s.client).FetchOffsetsForTopics(kadm.RequireStable(ctx),
			s.config.Source.groupName(s.config.Name), topics...)
		if err == nil {
			err = offsets.Error()
		}
	}
	if err != nil {
		return err
	}
	for p := range s.at {
		o, known := offsets.Lookup(p.Topic, p.Number)
		if _, read := s.At(p); read && known && o.At != s.committed[p] {
			return fmt.Errorf("it may have been committed all the same: the group is at offset %d of %s", o.At, p)
		}
	}
	return nil
}
