package kafka

import (
	"maps"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "survey-b", "survey-a", "other"), kfake.SeedTopics(3, "survey-c"))
	admin := kadm.NewClient(newClient(t, c))
	for _, test := range []struct {
		topics  []string
		pattern string
		want    string // topics as name:partitions, or the error text
	}{
		{[]string{"survey-b", "other"}, "", "other:2 survey-b:2"},
		{nil, "^survey-", "survey-a:2 survey-b:2 survey-c:3"},
		{nil, "[ac]$", "survey-a:2 survey-c:3"},
		{[]string{"survey-a", "missing"}, "", `the topic "missing" does not exist`},
		{[]string{"z", "survey-a", "y"}, "", `the topics "y", "z" do not exist`},
		{nil, "^nothing", `no topic that the user may Describe matches the pattern "^nothing"`},
		{nil, "(", "pattern: error parsing regexp: missing closing ): `(`"},
	} {
		topics, err := (&SourceConfig{Topics: test.topics, Pattern: test.pattern}).resolve(limited(t), admin, zerolog.Nop())
		var got []string
		for _, topic := range topics {
			got = append(got, topic.name+":"+string('0'+topic.partitions))
		}
		text := strings.Join(got, " ")
		if err != nil {
			text = err.Error()
			if !Final(err) {
				t.Errorf("%v: not final", err)
			}
		}
		if text != test.want {
			t.Errorf("%v %q: %s, want %s", test.topics, test.pattern, text, test.want)
		}
	}
}

func TestCheckTopics(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(3, "a", "a-out", "wide"), kfake.SeedTopics(2, "b", "b-out", "narrow"))
	admin := kadm.NewClient(newClient(t, c))
	sources := []topic{{"a", 3}, {"b", 2}}
	for to, want := range map[string]string{
		"{topic}-out": "",
		"wide":        "",
		"narrow":      `the topic "narrow" has 2 partitions and must have at least the 3 of "a": a record keeps its partition`,
		"missing":     `the topic "missing" does not exist`,
		"{topic}-x":   `the topics "a-x", "b-x" do not exist`,
		"a":           `the topic "a" is that of the source: its own release would be read again`,
	} {
		got, err := (&SinkConfig{Topic: to}).checkTopics(limited(t), admin, zerolog.Nop(), sources)
		switch {
		case want == "":
			if err != nil || got["a"].name != strings.ReplaceAll(to, placeholder, "a") ||
				got["b"].name != strings.ReplaceAll(to, placeholder, "b") {
				t.Errorf("%s: %v, %v", to, got, err)
			}
		case !Final(err) || err.Error() != want:
			t.Errorf("%s: %v, want %s", to, err, want)
		}
	}
}

func TestStateTopic(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	admin := kadm.NewClient(newClient(t, c))
	for range 2 { // the topic is created first, and exists already the second time
		if err := ensureStateTopic(limited(t), admin, "state", 3); err != nil {
			t.Fatal(err)
		}
	}
	configs, err := admin.DescribeTopicConfigs(t.Context(), "state")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range configs[0].Configs {
		got[s.Key] = s.MaybeValue()
	}
	for key, want := range stateSettings() {
		if got[key] != *want {
			t.Errorf("%s is %s, want %s", key, got[key], *want)
		}
	}
	if n := len(c.PartitionInfos("state")); n != 3 {
		t.Errorf("%d partitions, want 3", n)
	}
	for policy, want := range map[string]string{"delete": "got delete", "compact,delete": "got compact,delete"} {
		name := strings.ReplaceAll(policy, ",", "-")
		if err := c.CreateTopic(name, 1, map[string]string{"cleanup.policy": policy}); err != nil {
			t.Fatal(err)
		}
		if err := ensureStateTopic(limited(t), admin, name, 1); !Final(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", policy, err)
		}
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Err: kerr.PolicyViolation, Count: -1})
	if err := ensureStateTopic(limited(t), admin, "refused", 1); !Final(err) ||
		!strings.Contains(err.Error(), "the brokers refuse to create it") {
		t.Errorf("got %v", err)
	}
}

// A question is repeated while the brokers' answer is a temporary error.
func TestQuestionsArePatient(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "a"))
	fill(t, newClient(t, c), "a", 0, 0, 3)
	faults := c.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.NotLeaderForPartition, Count: 2},
		kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.CoordinatorLoadInProgress, Count: 2},
		kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Err: kerr.LeaderNotAvailable, Count: 2},
		kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.NotCoordinator, Count: 2},
	)
	s := open(t, sourceOf(c, "a"))
	if err := s.acknowledge(limited(t)); err != nil {
		t.Fatal(err)
	}
	if n := faults.Hits(); n < 6 {
		t.Errorf("%d faults were met", n)
	}
}

// A group stands where it has committed, at the beginning of a partition as further on; where it has
// committed nothing it stands nowhere.
func TestWhereAGroupStands(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(3, "in"))
	cl := newClient(t, c)
	want := map[Partition]int64{in0: 0, in1: 5}
	commit(t, cl, want)
	if got, err := committed(limited(t), kadm.NewClient(cl), zerolog.Nop(), "g"); err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := committed(limited(t), kadm.NewClient(cl), zerolog.Nop(), "nobody"); err != nil || len(got) != 0 {
		t.Errorf("a group that is not there: %v, %v", got, err)
	}
}
