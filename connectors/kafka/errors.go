package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// FinalError is an error that a repetition cannot cure: a missing right, a missing topic, a
// certificate that is not trusted. Text says what is wrong and what would help, in the words
// of the configuration.
type FinalError struct {
	Text string
	Err  error // the cause; not printed, as brokers' texts may say anything
}

func (e *FinalError) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *FinalError) Unwrap() error { return e.Err }

// Final reports whether repeating what led to err cannot help. Errors of the
// network, of leaders and coordinators that move, and of contexts are not final.
func Final(err error) bool {
	if err == nil {
		return false
	}
	var final *FinalError
	return errors.As(err, &final) || reason(err, subject{}) != ""
}

// explainError writes an error in words: a *FinalError if it is final, otherwise err after
// what. what is what was being done. If that is `reading TOPIC` or `writing to TOPIC`, an
// error about a missing right names the topic.
func explainError(err error, what string) error {
	if err == nil {
		return nil
	}
	var final *FinalError
	if errors.As(err, &final) {
		return err
	}
	var s subject
	if topic, ok := strings.CutPrefix(what, "reading "); ok && validTopic(topic) {
		s = subject{right: "Read", topic: topic}
	} else if topic, ok := strings.CutPrefix(what, "writing to "); ok && validTopic(topic) {
		s = subject{right: "Write to", topic: topic}
	}
	return explain(err, what, s)
}

// subject is what a request was about, as far as it is known.
type subject struct {
	right         string // on the topic
	topic         string
	group         string
	groupRight    string // Read where "" is given
	transactional string // a transactional id
}

func explain(err error, what string, s subject) error {
	if err == nil {
		return nil
	}
	var final *FinalError
	if errors.As(err, &final) {
		return err
	}
	if text := reason(err, s); text != "" {
		return &FinalError{Text: what + ": " + text, Err: err}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// reason says why an error is final; "" where it is not.
func reason(err error, s subject) string {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, kgo.ErrClientClosed) {
		return ""
	}
	var code *kerr.Error
	if errors.As(err, &code) {
		return brokerReason(code, s)
	}
	var large *kgo.ErrDecompressTooLarge
	if errors.As(err, &large) {
		return fmt.Sprintf("the batch at offset %d of partition %d is larger, decompressed, than the client takes",
			large.Offset, large.Partition)
	}
	if strings.Contains(err.Error(), "broker is too old") {
		return "the brokers are too old: they do not know a request that is needed (Apache Kafka 2.5 or later is)"
	}
	return tlsReason(err)
}

// brokerReason is reason for an answer of a broker.
func brokerReason(code *kerr.Error, s subject) string {
	if reason := rightReason(code, s); reason != "" {
		return reason
	}
	switch code {
	case kerr.UnknownTopicOrPartition, kerr.UnknownTopicID:
		if s.topic == "" {
			return "a topic or partition does not exist"
		}
		return fmt.Sprintf("the topic %q does not exist, or lacks the partition", s.topic)
	case kerr.InvalidReplicationFactor, kerr.InvalidPartitions, kerr.InvalidConfig, kerr.PolicyViolation:
		return "the brokers refuse the topic's settings (" + code.Message + ")"
	case kerr.SecurityDisabled, kerr.DelegationTokenAuthorizationFailed:
		return "the brokers refuse it (" + code.Message + ")"
	}
	return brokerReasons[code]
}

// rightReason is what a user may not do to something that has a name; "" for codes that are
// not about rights.
func rightReason(code *kerr.Error, s subject) string {
	of := func(kind, name string) string {
		if name == "" {
			return "the " + kind
		}
		return fmt.Sprintf("%s %q", kind, name)
	}
	switch code {
	case kerr.TopicAuthorizationFailed:
		right := s.right
		if right == "" {
			right = "use"
		}
		return fmt.Sprintf(
			"the user may not %s %s; reading needs the rights Read and Describe on a topic, writing Write and Describe", right,
			of("topic", s.topic))
	case kerr.GroupAuthorizationFailed:
		right := s.groupRight
		if right == "" {
			right = "Read"
		}
		return fmt.Sprintf("the user may not %s %s; the rights Read and Describe on the group are needed", right,
			of("consumer group", s.group))
	case kerr.TransactionalIDAuthorizationFailed:
		return fmt.Sprintf(
			"the user may not Write with %s; the rights Write and Describe on transactional ids with that beginning are needed",
			of("transactional id", s.transactional))
	}
	return ""
}

// brokerReasons are the reasons that name nothing.
var brokerReasons = map[*kerr.Error]string{
	kerr.ClusterAuthorizationFailed:  "the user lacks a right on the cluster: IdempotentWrite to write (brokers before 3.0), Create to create topics",
	kerr.SaslAuthenticationFailed:    "authentication failed: the brokers refuse the user or the password (sasl)",
	kerr.UnsupportedSaslMechanism:    "authentication failed: the brokers do not offer this sasl.mechanism",
	kerr.IllegalSaslState:            "authentication failed: the brokers do not offer this sasl.mechanism",
	kerr.InvalidTopicException:       "the brokers do not take this as a topic's name",
	kerr.UnsupportedVersion:          "the brokers do not support a request that is needed; they must be Apache Kafka 2.5 or later, or speak its protocol",
	kerr.UnsupportedForMessageFormat: "the brokers do not support a request that is needed; they must be Apache Kafka 2.5 or later, or speak its protocol",
	kerr.UnsupportedCompressionType:  "the brokers do not support this compression",
	kerr.MessageTooLarge:             "a message is larger than the topic takes (max.message.bytes of the topic, message.max.bytes of the brokers)",
	kerr.RecordListTooLarge:          "a message is larger than the topic takes (max.message.bytes of the topic, message.max.bytes of the brokers)",
	kerr.InvalidRecord:               "the topic refuses the messages; a compacted topic needs keys: key: pass, hash or a column",
	kerr.InvalidTimestamp:            "the topic refuses the messages' timestamps (message.timestamp.before.max.ms, …after.max.ms); timestamp: drop gives them the time of the release",
	kerr.OffsetOutOfRange:            "records that were to be read have been deleted meanwhile (retention)",
	kerr.InvalidGroupID:              "the brokers do not take this as a consumer group's name",
	kerr.InconsistentGroupProtocol:   "the consumer group is in use by another kind of client; give this pipeline a group of its own",
	kerr.FencedInstanceID:            "another process has joined the group with the same `instance`; each needs a name of its own",
	kerr.GroupMaxSizeReached:         "the consumer group has as many members as the brokers allow",
	kerr.InvalidTransactionTimeout:   "the transaction timeout is longer than the brokers allow (transaction.max.timeout.ms)",
	kerr.InvalidSessionTimeout:       "the brokers do not allow the session timeout (group.min.session.timeout.ms, group.max.session.timeout.ms)",
}

// tlsReason is reason for certificates.
func tlsReason(err error) string {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		header    tls.RecordHeaderError
		operation *net.OpError
	)
	switch {
	case errors.As(err, &authority):
		return "the brokers' certificate is signed by an authority that is not trusted; name it in tls.ca"
	case errors.As(err, &host):
		return "the brokers' certificate is for another name (" + host.Error() + "); tls.server_name says which it must hold"
	case errors.As(err, &invalid):
		return "the brokers' certificate is not valid: " + invalid.Error()
	case errors.As(err, &verify):
		return "the brokers' certificate cannot be verified"
	case errors.As(err, &header):
		return "the brokers do not speak TLS at this address; it may be that of another listener"
	case errors.As(err, &operation) && operation.Op == "remote error":
		// The alert's own type is hidden; its texts are those of the TLS standard.
		alert := operation.Err.Error()
		for _, word := range []string{"certificate", "unknown authority", "access denied", "protocol version",
			"handshake failure", "unrecognized name"} {
			if strings.Contains(alert, word) {
				return "the brokers refuse the TLS connection: " + strings.TrimPrefix(alert, "tls: ") +
					"; tls.cert and tls.key are the client's certificate"
			}
		}
	}
	return ""
}
