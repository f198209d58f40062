package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

func TestStreamCommands(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 100)
	s.config(endless, `quarantine: {jsonl: out/quarantine.jsonl}`, `report: {json: out/report.json}`,
		strings.Replace(farFromMean, "on_fail: stop", "on_fail: hold, hold: {topic: held}", 1))

	// validate only reads and creates nothing: no file, no topic, no group.
	stdout, _ := s.run(exitDone, "validate", "--connect", "pipeline.yaml")
	mustContain(t, stdout, "pipeline.yaml: valid")
	if entries, err := os.ReadDir(s.dir + "/out"); err == nil && len(entries) > 0 {
		t.Errorf("validate has left %s", entries[0].Name())
	}
	admin := kadm.NewClient(s.newClient())
	topics, err := admin.ListTopics(t.Context())
	groups, err2 := admin.ListGroups(t.Context())
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if names := topics.Names(); slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, "sdlfilter")
	}) || len(groups) > 0 {
		t.Errorf("validate has left topics or groups: %v, %v", names, groups)
	}
	for what, c := range map[string]struct{ line, want string }{
		"source": {`source: {kafka: {brokers: ["BROKER"], topics: [in, missing]}}`, `the topic "missing" does not exist`},
		"sink":   {`sink: {kafka: {brokers: ["BROKER"], topic: missing}}`, `the topic "missing" does not exist`},
		"snapshots": {`assess: {every: {records: 10}, emit: [{kafka: {topic: missing}}]}`,
			`the topic "missing" does not exist`},
		"hold": {strings.Replace(farFromMean, "on_fail: stop", "on_fail: hold, hold: {topic: missing}", 1),
			`gate.hold: the topic "missing" does not exist`},
		"narrow": {`sink: {kafka: {brokers: ["BROKER"], topic: narrow}}`,
			`the topic "narrow" has 1 partitions and must have at least the 2 of "in"`},
	} {
		if what == "narrow" {
			if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, "narrow"); err != nil {
				t.Fatal(err)
			}
		}
		s.file("wrong.yaml",
			strings.ReplaceAll(s.text(endless, c.line), "kafka: {brokers:", "kafka: {startup_patience: 1ms, brokers:"))
		for _, args := range [][]string{{"validate", "--connect", "wrong.yaml"}, {"run", "wrong.yaml"}} {
			_, log := s.run(exitFailed, args...)
			mustContain(t, log, c.want)
		}
	}

	stdout, _ = s.run(exitDone, "preview", "pipeline.yaml", "-n", "3", "--show-original")
	mustContain(t, stdout, "wage*", "wage (original)", "100", "3 rows")
	if strings.Contains(stdout, "Name") {
		t.Errorf("the preview shows names:\n%s", stdout)
	}
	stdout, _ = s.run(exitDone, "profile", "pipeline.yaml")
	mustContain(t, stdout, "wage", "decimals: 2", "n: 100")
	// A stream that needs a profile names the one made from it.
	s.file("relative.yaml", s.text(endless, `profile: wages.yaml`, `masks: [{noise: {columns: [wage], sd: 20%}}]`,
		`columns: {id: {role: other}, name: {role: identifier}, wage: {role: sensitive}, region: {role: other}}`))
	s.run(exitDone, "profile", "relative.yaml", "-o", "wages.yaml")
	s.run(exitDone, "run", "--allow-loosening", "-q", "relative.yaml", "--set", "source.kafka.until=latest", "--set",
		"sink.kafka.topic=again", "--set", "source.kafka.group=relative")
	s.released("again", 100)

	s.run(exitDone, "run", "--allow-loosening", "-q", "pipeline.yaml", "--set", "source.kafka.until=latest")
	s.released("out", 100)
	stdout, _ = s.run(exitDone, "assess", "--group", "sdlfilter-stand", "--config", "pipeline.yaml", "--json")
	var rep struct {
		Schema  string
		Records struct{ Read, Released int }
		Columns map[string]struct{ Released struct{ N int } }
	}
	if err := json.Unmarshal([]byte(stdout), &rep); err != nil || rep.Schema != "sdlfilter.report/1" ||
		rep.Records.Released != 100 || rep.Columns["wage"].Released.N != 100 {
		t.Errorf("%v: assess reports %+v", err, rep)
	}
	stdout, _ = s.run(exitDone, "assess", "--group", "sdlfilter-stand", "--config", "pipeline.yaml")
	mustContain(t, stdout, "wage", "100")
	_, log := s.run(exitFailed, "assess", "--group", "nobody", "--config", "pipeline.yaml")
	mustContain(t, log, `"nobody"`)
	_, log = s.run(exitUsage, "assess", "--group", "sdlfilter-stand")
	mustContain(t, log, "--config")
}

// A bounded stream that is stopped before its end is not complete.
func TestStreamIsCutShort(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 100)
	topics, err := kadm.NewClient(s.newClient()).ListTopics(t.Context(), "in")
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Bool
	s.cluster.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		ofSource := func(topic kmsg.FetchRequestTopic) bool {
			return topic.Topic == "in" || topic.TopicID == topics["in"].ID
		}
		if slices.ContainsFunc(r.(*kmsg.FetchRequest).Topics, ofSource) {
			asked.Store(true)
			s.cluster.SleepControl(func() { <-t.Context().Done() }) // no record comes before the signal, however late that is
		}
		return nil, nil, false
	})
	s.config()
	p := s.start("run", "-v", "pipeline.yaml")
	p.once("asks for records", asked.Load)
	p.signal(syscall.SIGTERM)
	_, log := p.wait(exitSignal + int(syscall.SIGTERM))
	mustContain(t, log, "before the end")
}

// Missing permissions are named before anything is read.
func TestStreamRights(t *testing.T) {
	t.Parallel()
	right := func(kind kmsg.ACLResourceType, name string, op kmsg.ACLOperation) kfake.ACL {
		return kfake.ACL{Resource: kind, Name: name, Pattern: kmsg.ACLResourcePatternTypePrefixed, Operation: op, Allow: true}
	}
	const topic, group, id = kmsg.ACLResourceTypeTopic, kmsg.ACLResourceTypeGroup, kmsg.ACLResourceTypeTransactionalId
	all := []kfake.ACL{
		right(topic, "in", kmsg.ACLOperationRead), right(topic, "out", kmsg.ACLOperationWrite),
		right(group, "sdlfilter-", kmsg.ACLOperationRead),
		right(id, "sdlfilter-", kmsg.ACLOperationWrite), right(topic, "sdlfilter-", kmsg.ACLOperationRead),
		right(topic, "sdlfilter-", kmsg.ACLOperationWrite),
		right(topic, "sdlfilter-", kmsg.ACLOperationCreate), right(topic, "sdlfilter-", kmsg.ACLOperationDescribeConfigs),
	}
	users := []kfake.Opt{kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "admin", "admin"),
		kfake.User("PLAIN", "all", "secret", all...)}
	missing := []string{
		`the user may not Describe topic "in"`, `the user may not Describe topic "out"`,
		`the user may not Read consumer group "sdlfilter-stand"; the rights`,
		`the user may not Write with transactional id`, `the user may not Read topic "sdlfilter-stand-state"`,
		`the user may not Write to topic "sdlfilter-stand-state"`,
	}
	for i := range missing {
		users = append(users,
			kfake.User("PLAIN", fmt.Sprintf("lacks-%d", i), "secret", slices.Delete(slices.Clone(all), i, i+1)...))
	}
	s := newStand(t, users...)
	asAdmin := kgo.SASL(plain.Auth{User: "admin", Pass: "admin"}.AsMechanism())
	s.client = s.newClient(asAdmin)
	s.persons(0, 10)
	s.file("password", "secret")
	as := func(user string) {
		t.Helper()
		s.file("pipeline.yaml", s.text(
			fmt.Sprintf(
				`source: {kafka: {brokers: ["BROKER"], topics: [in], sasl: {mechanism: plain, username: %s, password: {file: password}}}}`, user),
			fmt.Sprintf(
				`sink: {kafka: {brokers: ["BROKER"], topic: out, sasl: {mechanism: plain, username: %s, password: {file: password}}}}`, user)))
	}
	as("all")
	// so that the state topic is not empty
	s.run(exitDone, "run", "--allow-loosening", "-q", "pipeline.yaml", "--set", "source.kafka.until=latest")
	s.persons(10, 20)
	for i, want := range missing {
		as(fmt.Sprintf("lacks-%d", i))
		_, log := s.run(exitFailed, "run", "-q", "pipeline.yaml")
		mustContain(t, log, want)
	}
}
