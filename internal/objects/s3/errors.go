package s3

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

// translated makes an error of the program of one of the SDK. Nothing of the request and of the
// answer's text is in it: they have addresses, identities and, on a server that means it
// well, the key that it did not know.
func (b *bucket) translated(err error) error {
	if err == nil {
		return nil
	}
	if ended := objects.Ended(err); ended != nil {
		return ended
	}
	var (
		api      smithy.APIError
		response *awshttp.ResponseError
		status   int
		code     string
	)
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	if errors.As(err, &api) {
		code = objects.Word(api.ErrorCode())
	}
	var noBucket *types.NoSuchBucket
	switch {
	case errors.As(err, &noBucket) || code == "NoSuchBucket":
		return objects.ErrNoBucket
	case code == "NoSuchUpload":
		return objects.ErrNoUpload
	case code == "NoSuchKey" || code == "NotFound" || status == http.StatusNotFound:
		return objects.ErrAbsent
	// Of two that write one name at the same moment, the one that lost: to write again is
	// not for this program, since it would be under another condition.
	case status == http.StatusPreconditionFailed, code == "PreconditionFailed", code == "ConditionalRequestConflict":
		return objects.ErrCondition
	case code == "ExpiredToken" || code == "ExpiredTokenException" || code == "RequestExpired" ||
		code == "TokenRefreshRequired":
		return fmt.Errorf("%w: the credentials have expired (%s)", objects.ErrDenied, code)
	case code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch" || code == "InvalidToken":
		return fmt.Errorf("%w: the server does not know these credentials (%s)", objects.ErrDenied, code)
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		return fmt.Errorf("%w: these credentials may not do this (%s)", objects.ErrDenied, objects.Answer(status, code))
	case status == http.StatusMovedPermanently || code == "PermanentRedirect" || code == "AuthorizationHeaderMalformed":
		return errors.New("the bucket lies in another region: set AWS_REGION")
	case status == http.StatusTooManyRequests || code == "SlowDown" || status == http.StatusServiceUnavailable:
		return fmt.Errorf("the server is too busy, and was still after several attempts (%s)", objects.Answer(status, code))
	case status >= 300:
		return fmt.Errorf("the server refused (%s)", objects.Answer(status, code))
	case status > 0:
		return fmt.Errorf("the server's answer is none of S3's (%s)", objects.Answer(status, code))
	}
	return unsent(err)
}

var errNoCredentials = fmt.Errorf(
	"%w: no credentials were found, or they could not be renewed: see AWS_ACCESS_KEY_ID, AWS_PROFILE and the other places where the AWS SDK looks", objects.ErrDenied)

// unsent is the error of a request that had no answer.
func unsent(err error) error {
	var dns *net.DNSError
	var op *net.OpError
	var address *url.Error
	switch {
	case errors.As(err, &dns):
		return errors.New("the server's name is not known: see AWS_REGION and AWS_ENDPOINT_URL_S3")
	case errors.As(err, &op) && op.Op == "dial":
		return errors.New("the server cannot be reached: see AWS_ENDPOINT_URL_S3")
	case errors.As(err, &op) || errors.As(err, &address):
		return errors.New("the connection was cut, and was again after several attempts")
	}
	if strings.Contains(err.Error(), "credentials") {
		return errNoCredentials
	}
	return errors.New("the request failed, and failed again after several attempts")
}
