package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/brokers"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/faultproxy"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/wait"
)

// full reports whether the long form was requested.
var full = os.Getenv("FULL") == "1"

// scale returns the value for the form of the tests.
func scale[T any](short, long T) T {
	if full {
		return long
	}
	return short
}

// records is the number of records in a fault test.
var records = scale[int64](20_000, 200_000)

// site is a set of brokers with their proxies.
type site struct {
	cluster *brokers.Cluster
	proxies []*faultproxy.Proxy // one per broker; the program uses their addresses if the network is to be interrupted
	client  *kgo.Client
	admin   *kadm.Client
}

// open starts brokers for the time of a test.
func open(t *testing.T, n int) *site {
	t.Helper()
	libs := os.Getenv("KAFKA_LIBS")
	if libs == "" {
		t.Skip("KAFKA_LIBS does not name the folder of Kafka's jars: make test-kafka sets it")
	}
	s := &site{}
	cluster, err := brokers.Start(t.Context(), brokers.Options{
		Libs: libs, N: n, Dir: t.TempDir(), Heap: os.Getenv("KAFKA_HEAP"),
		Advertise: func(_ int, address string) (string, error) {
			p, err := faultproxy.New(address)
			if err != nil {
				return "", err
			}
			t.Cleanup(p.Close)
			s.proxies = append(s.proxies, p)
			return p.Addr(), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	s.cluster = cluster
	s.client, err = kgo.NewClient(kgo.SeedBrokers(cluster.Addresses()...), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	s.admin = kadm.NewClient(s.client)
	return s
}

// topic creates a topic and waits for unreachable brokers. settings alternate keys and values.
func (s *site) topic(t *testing.T, name string, partitions int32, settings ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	replicas := int16(s.cluster.N())
	configs := map[string]*string{}
	for i := 0; i+1 < len(settings); i += 2 {
		configs[settings[i]] = &settings[i+1]
	}
	if _, err := s.admin.CreateTopic(ctx, partitions, replicas, configs, name); err != nil {
		t.Fatalf("making topic %s: %v", name, err)
	}
	// Until all brokers know the topic, a client may get the error that it does not exist.
	var missing error
	if !wait.Until(ctx, func() bool {
		topics, err := s.admin.ListTopics(ctx, name)
		missing = errors.Join(err, topics.Error())
		return missing == nil && len(topics[name].Partitions) == int(partitions)
	}) {
		t.Fatalf("topic %s does not appear: %v", name, missing)
	}
}

// offsets asks for one offset per partition: ends, committed ends, or a group's.
func offsets(t *testing.T, list kadm.ListedOffsets, err error, partitions int32) ([]int64, error) {
	t.Helper()
	if err == nil {
		err = list.Error()
	}
	if err != nil {
		return nil, err
	}
	out := make([]int64, partitions)
	list.Each(func(o kadm.ListedOffset) { out[o.Partition] = o.Offset })
	return out, nil
}

// committed returns a group's offsets in a topic, 0 if it has none. If a coordinator moves or dies,
// it is looked up again.
func (s *site) committed(ctx context.Context, group, topic string, partitions int32) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	admin := s.admin
	for {
		out := make([]int64, partitions)
		r, err := admin.FetchOffsets(ctx, group)
		if err == nil {
			r.Each(func(o kadm.OffsetResponse) {
				if o.Topic == topic {
					err = errors.Join(err, o.Err)
					out[o.Partition] = max(0, o.At)
				}
			})
		}
		if err == nil || ctx.Err() != nil {
			return out, err
		}
		wait.Elapse(ctx, 200*time.Millisecond) // interval between questions to brokers
		// A client that knows a coordinator keeps using it while it is unreachable.
		fresh, freshErr := kadm.NewOptClient(kgo.SeedBrokers(s.cluster.Addresses()...))
		if freshErr != nil {
			return out, freshErr
		}
		defer fresh.Close()
		admin = fresh
	}
}

func sum(v []int64) (total int64) {
	for _, x := range v {
		total += x
	}
	return total
}

// program returns the path of the filter. Without one the test fails, because nothing was tested.
func program(t *testing.T) string {
	t.Helper()
	path := os.Getenv("SDLFILTER_BINARY")
	if path == "" {
		t.Fatal("SDLFILTER_BINARY must name the program; scripts/test-kafka.sh builds it")
	}
	return path
}

// barecopy builds the copy program without masking, once.
var barecopy = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kafkatest-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "barecopy")
	if out, err := exec.Command("go", "build", "-o", path, "./cmd/barecopy").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building barecopy: %w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if path, err := barecopy(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(status)
}

// slug returns a test's name for use in a topic's name.
func slug(t *testing.T) string {
	return strings.ToLower(strings.NewReplacer("/", "-", "_", "-", " ", "-").Replace(strings.TrimPrefix(t.Name(), "Test")))
}

// TestOneBroker and TestThreeBrokers start their brokers one after the other, so that there is
// never more than one set.
func TestOneBroker(t *testing.T) {
	s := open(t, 1)
	for _, c := range oneBroker {
		t.Run(c.name, func(t *testing.T) {
			if !c.alone {
				t.Parallel()
			}
			c.run(t, s)
		})
	}
}

func TestThreeBrokers(t *testing.T) {
	s := open(t, 3)
	for _, c := range threeBrokers {
		t.Run(c.name, func(t *testing.T) { c.run(t, s) })
	}
}

// scenario is one kind of fault.
type scenario struct {
	name  string
	run   func(*testing.T, *site)
	alone bool // it measures, so nothing else may run
}
