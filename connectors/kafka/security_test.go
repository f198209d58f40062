package kafka

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
)

// canary is the password that must not appear anywhere.
const canary = "canary-password-31415"

// logBuffer collects the log.
type logBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (s *logBuffer) Write(p []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	return s.Buffer.Write(p)
}

func (s *logBuffer) text() string {
	s.Lock()
	defer s.Unlock()
	return s.Buffer.String()
}

// watched returns a context with a logger that collects all levels, and a check that neither the
// log nor an error contains the password.
func watched(t *testing.T) (context.Context, func(err error)) {
	log := new(logBuffer)
	return zerolog.New(log).Level(zerolog.TraceLevel).WithContext(limited(t)), func(err error) {
		t.Helper()
		if text := log.text(); strings.Contains(text, canary) || !strings.Contains(text, `"from":"kafka client"`) {
			t.Errorf("the log holds the password, or nothing: %s", text)
		}
		for ; err != nil; err = errors.Unwrap(err) {
			if strings.Contains(err.Error(), canary) {
				t.Errorf("the error holds the password: %v", err)
			}
		}
	}
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
	file string // the certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	der,
		key := sign(t,
		&x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour)}, nil, nil)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.key = key
	a.pool.AddCert(a.cert)
	a.file = writePEM(t, "CERTIFICATE", der)
	return a
}

func sign(t *testing.T, template, parent *x509.Certificate, by *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if parent == nil {
		parent, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	return der, key
}

func writePEM(t *testing.T, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// issue signs a certificate and returns it with its files.
func (a *authority) issue(t *testing.T, name string, expires time.Duration) (pair tls.Certificate, cert, key string) {
	t.Helper()
	der, private := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(expires),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, a.key)
	bytes, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = writePEM(t, "CERTIFICATE", der), writePEM(t, "EC PRIVATE KEY", bytes)
	if pair, err = tls.LoadX509KeyPair(cert, key); err != nil {
		t.Fatal(err)
	}
	return pair, cert, key
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	server, _, _ := ca.issue(t, "broker", time.Hour)
	expired, _, _ := ca.issue(t, "broker", -time.Minute)
	_, cert, key := ca.issue(t, "client", time.Hour)
	_, strangeCert, strangeKey := other.issue(t, "client", time.Hour)
	plain := &tls.Config{Certificates: []tls.Certificate{server}}
	mutual := &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs: ca.pool}
	for _, test := range []struct {
		name   string
		server *tls.Config
		client *TLS
		want   string // of the error; "": none
	}{
		{"trusted", plain, &TLS{CA: ca.file}, ""},
		{"server name", plain, &TLS{CA: ca.file, ServerName: "broker"}, ""},
		{"wrong server name", plain, &TLS{CA: ca.file, ServerName: "elsewhere"},
			"the brokers' certificate is for another name"},
		{"unknown authority", plain, &TLS{CA: other.file}, "signed by an authority that is not trusted; name it in tls.ca"},
		{"system's authorities", plain, &TLS{}, "signed by an authority that is not trusted"},
		{"expired", &tls.Config{Certificates: []tls.Certificate{expired}}, &TLS{CA: ca.file},
			"the brokers' certificate is not valid"},
		{"no TLS here", plain, nil, "brokers close the connection at once: is tls or sasl missing"},
		{"mutual", mutual, &TLS{CA: ca.file, Cert: cert, Key: key}, ""},
		{"mutual, no certificate", mutual, &TLS{CA: ca.file}, "the brokers refuse the TLS connection: certificate required"},
		{"mutual, strange certificate", mutual, &TLS{CA: ca.file, Cert: strangeCert, Key: strangeKey},
			"the brokers refuse the TLS connection"},
		{"missing CA", plain, &TLS{CA: "nowhere.pem"}, "tls.ca: open nowhere.pem"},
		{"CA without certificate", plain, &TLS{CA: key}, "holds no certificate in PEM"},
		{"certificate and key swapped", plain, &TLS{Cert: key, Key: cert}, "tls.cert: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config := sourceOf(newCluster(t, kfake.SeedTopics(1, "a"), kfake.TLS(test.server)), "a")
			config.TLS = test.client
			s, err := config.Open(limited(t))
			switch {
			case err == nil && test.want == "":
				s.Close()
			case err == nil:
				s.Close()
				t.Error("connected")
			case test.want == "" || !Final(err) || !strings.Contains(err.Error(), test.want):
				t.Errorf("got %v", err)
			}
		})
	}
}

// A broker without TLS reads the TLS greeting as a huge message length and closes the connection.
func TestTLSWhereThereIsNone(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096)) // unread data would turn the close into a reset
			c.Close()
		}
	})
	config := &SourceConfig{
		Connection: Connection{Brokers: []string{listener.Addr().String()}, TLS: &TLS{}, tuning: quick},
		Topics:     []string{"a"}}
	if _, err := config.Open(limited(t)); !Final(err) || !strings.Contains(err.Error(), "given where brokers have none") {
		t.Errorf("got %v", err)
	}
	listener.Close()
	group.Wait()
}

func lookup(name string) (string, bool) {
	password, ok := map[string]string{"RIGHT": canary, "WRONG": canary + "-not"}[name]
	return password, ok
}

func TestSASL(t *testing.T) {
	t.Parallel()
	for _, mechanism := range mechanisms {
		for _, variable := range []string{"RIGHT", "WRONG", "UNSET"} {
			t.Run(mechanism+" "+variable, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, kfake.SeedTopics(1, "a"), kfake.EnableSASL(),
					kfake.Superuser(strings.ToUpper(mechanism), "filter", canary))
				config := sourceOf(c, "a")
				config.SASL = &SASL{Mechanism: mechanism, Username: "filter", Password: Password{Env: variable}}
				config.Abilities().SetLookup(lookup)
				ctx, check := watched(t)
				s, err := config.Open(ctx)
				if s != nil {
					s.Close()
				}
				switch variable {
				case "RIGHT":
					if err != nil {
						t.Error(err)
					}
				case "WRONG": // kfake closes the connection, like brokers before 1.0
					if !Final(err) || !strings.Contains(err.Error(), "or the password wrong?") {
						t.Errorf("got %v", err)
					}
				case "UNSET":
					if !Final(err) || !strings.Contains(err.Error(), "sasl.password: the environment variable UNSET") {
						t.Errorf("got %v", err)
					}
					return // the client has not started
				}
				check(err)
			})
		}
	}
}

// Current brokers report a wrong password.
func TestSASLRefused(t *testing.T) {
	t.Parallel()
	for _, mechanism := range mechanisms {
		c := newCluster(t, kfake.EnableSASL(), kfake.Superuser(strings.ToUpper(mechanism), "filter", canary))
		c.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
			resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
			resp.ErrorMessage = kadm.StringPtr("Authentication failed: " + canary)
			return resp, nil, true
		})
		config := sourceOf(c, "a")
		config.SASL = &SASL{Mechanism: mechanism, Username: "filter", Password: Password{Env: "WRONG"}}
		config.Abilities().SetLookup(lookup)
		_, err := config.Open(limited(t))
		if !Final(err) ||
			!strings.Contains(err.Error(), "authentication failed: the brokers refuse the user or the password") ||
			strings.Contains(err.Error(), canary) {
			t.Errorf("%s: got %v", mechanism, err)
		}
	}
}

func TestSASLMechanismNotOffered(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "filter", canary))
	config := sourceOf(c, "a")
	config.SASL = &SASL{Mechanism: "scram-sha-512", Username: "filter", Password: Password{Env: "RIGHT"}}
	config.Abilities().SetLookup(lookup)
	if _, err := config.Open(limited(t)); !Final(err) {
		t.Errorf("got %v", err)
	}
}

func TestPasswordIsNeverPrinted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), canary)
	config := SourceConfig{
		Connection: Connection{SASL: &SASL{Username: "filter", Password: Password{File: file, Env: canary, Lookup: lookup}}}}
	text, err := json.Marshal(config.SASL)
	if err != nil {
		t.Fatal(err)
	}
	var log logBuffer
	l := zerolog.New(&log)
	l.Info().Interface("sasl", config.SASL).Any("password", config.SASL.Password).Msg("")
	for _, s := range []string{
		string(text), log.text(),
		fmt.Sprintf("%v %+v %#v %s %q %x", config.SASL.Password, config.SASL.Password, config.SASL.Password,
			config.SASL.Password, config.SASL.Password, config.SASL.Password),
		fmt.Sprintf("%v %+v", *config.SASL, *config.SASL),
	} {
		if strings.Contains(s, canary) || !strings.Contains(s, "[secret]") {
			t.Errorf("printed %s", s)
		}
	}
}

// right is a permission of a user.
type right struct {
	resource  kmsg.ACLResourceType
	name      string
	operation kmsg.ACLOperation
}

func allow(rights ...right) kfake.Opt {
	var acls []kfake.ACL
	for _, r := range rights {
		pattern := kmsg.ACLResourcePatternTypeLiteral
		if strings.HasSuffix(r.name, "*") {
			pattern, r.name = kmsg.ACLResourcePatternTypePrefixed, strings.TrimSuffix(r.name, "*")
		}
		acls = append(acls,
			kfake.ACL{Resource: r.resource, Name: r.name, Pattern: pattern, Operation: r.operation, Allow: true})
	}
	return kfake.User("PLAIN", "filter", canary, acls...)
}

func asFilter(c *Connection) {
	c.SASL = &SASL{Mechanism: "plain", Username: "filter", Password: Password{Env: "RIGHT", Lookup: lookup}}
}

var (
	describeTopic = right{kmsg.ACLResourceTypeTopic, "a", kmsg.ACLOperationDescribe}
	readTopic     = right{kmsg.ACLResourceTypeTopic, "a", kmsg.ACLOperationRead}
	writeTopic    = right{kmsg.ACLResourceTypeTopic, "a", kmsg.ACLOperationWrite}
	createTopic   = right{kmsg.ACLResourceTypeTopic, "state", kmsg.ACLOperationCreate}
	seeState      = right{kmsg.ACLResourceTypeTopic, "state", kmsg.ACLOperationDescribe}
	describeGroup = right{kmsg.ACLResourceTypeGroup, "g", kmsg.ACLOperationDescribe}
	readGroup     = right{kmsg.ACLResourceTypeGroup, "g", kmsg.ACLOperationRead}
	writeID       = right{kmsg.ACLResourceTypeTransactionalId, "sdlfilter-a-*", kmsg.ACLOperationWrite}
	describeID    = right{kmsg.ACLResourceTypeTransactionalId, "sdlfilter-a-*", kmsg.ACLOperationDescribe}
)

// The error names the missing permission.
func TestRights(t *testing.T) {
	t.Parallel()
	read := func(ctx context.Context, t *testing.T, c *kfake.Cluster) error {
		config := sourceOf(c, "a")
		asFilter(&config.Connection)
		s, err := config.Open(ctx)
		if err != nil {
			return err
		}
		defer s.Close()
		r, err := s.Read(ctx, layoutOf(s.Schema()), connectors.Cut{})
		if err != nil {
			return err
		}
		defer r.Close()
		if _, err = r.Next(ctx); err != nil {
			return err
		}
		return s.(*Source).acknowledge(ctx)
	}
	write := func(ctx context.Context, t *testing.T, c *kfake.Cluster) error {
		config := sinkOf(c, "a")
		asFilter(&config.Connection)
		tab := connectortest.NewTable(t, connectortest.Contract{}, 10)
		src, err := tab.Config(0).Open(ctx)
		if err != nil {
			return err
		}
		r := &release{src: src, layout: layoutOf(src.Schema())}
		if r.sink, err = config.Create(ctx, connectors.Plan{Source: src, Layout: r.layout}); err != nil {
			return err
		}
		defer r.sink.Abort()
		if err := errors.Join(r.write(t), r.sink.Finish(ctx)); err != nil {
			return err
		}
		return r.sink.Commit()
	}
	state := func(ctx context.Context, t *testing.T, c *kfake.Cluster) error {
		config := sinkOf(c, "a")
		asFilter(&config.Connection)
		client, err := config.connect(*zerolog.Ctx(ctx))
		if err != nil {
			return err
		}
		defer client.Close()
		return ensureStateTopic(ctx, kadm.NewClient(client), "state", 2)
	}
	for _, test := range []struct {
		name   string
		rights []right
		do     func(context.Context, *testing.T, *kfake.Cluster) error
		want   string
	}{
		{"read", []right{describeTopic, readTopic, describeGroup, readGroup}, read, ""},
		{"no Describe of the topic", []right{describeGroup, readGroup}, read, `the user may not Describe topic "a"`},
		{"no Read of the topic", []right{describeTopic, describeGroup, readGroup}, read, `the user may not Read topic "a"`},
		{"no Describe of the group", []right{describeTopic, readTopic}, read, `the user may not Describe consumer group "g"`},
		{"no Read of the group", []right{describeTopic, readTopic, describeGroup}, read,
			`the user may not Read consumer group "g"`},
		{"write", []right{describeTopic, writeTopic, writeID, describeID}, write, ""},
		{"no Write to the topic", []right{describeTopic, writeID, describeID}, write, `the user may not Write to topic "a"`},
		{"no transactional id", []right{describeTopic, writeTopic}, write,
			`the user may not Write with transactional id "sdlfilter-a-`},
		{"create", []right{createTopic, seeState}, state, ""},
		{"no Create", []right{seeState}, state, `the state topic "state" is needed, and the user may not Create`},
		{"nothing", nil, state,
			"kafka-topics.sh --create --topic state --partitions 2 --config cleanup.policy=compact --config min.cleanable.dirty.ratio=0.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, kfake.SeedTopics(1, "a"), kfake.EnableSASL(), kfake.EnableACLs(),
				kfake.Superuser("PLAIN", "admin", "admin"), allow(test.rights...))
			seed := sinkOf(c, "a")
			seed.SASL = &SASL{Mechanism: "plain", Username: "admin",
				Password: Password{Env: "A", Lookup: func(string) (string, bool) { return "admin", true }}}
			client, err := seed.connect(zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if err := client.ProduceSync(t.Context(), messageOf("a", 0, 0)).FirstErr(); err != nil {
				t.Fatal(err)
			}
			ctx, check := watched(t)
			err = test.do(ctx, t, c)
			switch {
			case err == nil && test.want == "":
			case err == nil || test.want == "" || !Final(err) || !strings.Contains(err.Error(), test.want):
				t.Errorf("got %v", err)
			}
			check(err)
		})
	}
}
