package az

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

// tries is how often a request is sent again that may succeed another time.
const tries = 7

// Open looks for an account and credentials; it does not connect to the container.
func Open(_ context.Context, name string) (objects.Bucket, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	objects.Tune(transport)
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: objects.Watched{Doer: &http.Client{Transport: transport}},
		Retry: policy.RetryOptions{
			MaxRetries: tries, RetryDelay: min(200*time.Millisecond, objects.MostPause),
			MaxRetryDelay: min(10*time.Second, objects.MostPause),
		},
	}}
	client, err := connect(name, options)
	if err != nil {
		return nil, err
	}
	return &bucket{client}, nil
}

func connect(name string, options *container.ClientOptions) (*container.Client, error) {
	if text := os.Getenv("AZURE_STORAGE_CONNECTION_STRING"); text != "" {
		client, err := container.NewClientFromConnectionString(text, name, options)
		if err != nil {
			return nil, fmt.Errorf("%w: AZURE_STORAGE_CONNECTION_STRING cannot be read", objects.ErrDenied)
		}
		return client, nil
	}
	account, endpoint := os.Getenv("AZURE_STORAGE_ACCOUNT"), os.Getenv("AZURE_STORAGE_SERVICE_ENDPOINT")
	if endpoint == "" {
		if account == "" {
			return nil, fmt.Errorf("%w: no account was found: see AZURE_STORAGE_CONNECTION_STRING and AZURE_STORAGE_ACCOUNT",
				objects.ErrDenied)
		}
		endpoint = "https://" + account + ".blob.core.windows.net"
	}
	at := strings.TrimSuffix(endpoint, "/") + "/" + name
	if u, err := url.Parse(at); err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("AZURE_STORAGE_ACCOUNT, or AZURE_STORAGE_SERVICE_ENDPOINT, gives no address of a server")
	}
	if key := os.Getenv("AZURE_STORAGE_KEY"); key != "" {
		shared, err := container.NewSharedKeyCredential(account, key)
		if err != nil || account == "" {
			return nil, fmt.Errorf("%w: AZURE_STORAGE_KEY is no key, or AZURE_STORAGE_ACCOUNT is missing", objects.ErrDenied)
		}
		return container.NewClientWithSharedKeyCredential(at, shared, options)
	}
	if sas := os.Getenv("AZURE_STORAGE_SAS_TOKEN"); sas != "" {
		return container.NewClientWithNoCredential(at+"?"+strings.TrimPrefix(sas, "?"), options)
	}
	found, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, errNoCredentials
	}
	return container.NewClient(at, found, options)
}

var errNoCredentials = fmt.Errorf(
	"%w: no credentials were found, or they could not be renewed: see AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN and the other places where the Azure SDK looks", objects.ErrDenied)

// translated makes an error of the program of one of the SDK. Nothing of the request and of the
// answer's text is in it: they have addresses, and those have signatures.
func translated(err error) error {
	if err == nil {
		return nil
	}
	if ended := objects.Ended(err); ended != nil {
		return ended
	}
	var answer *azcore.ResponseError
	var identity *azidentity.AuthenticationFailedError
	switch {
	case errors.As(err, &identity):
		return errNoCredentials
	case !errors.As(err, &answer):
		return unsent(err)
	}
	code := objects.Word(answer.ErrorCode)
	switch status := answer.StatusCode; {
	case code == "ContainerNotFound" || code == "ContainerBeingDeleted":
		return objects.ErrNoBucket
	case code == "InvalidBlockList":
		return objects.ErrNoUpload
	case status == http.StatusNotFound:
		return objects.ErrAbsent
	case status == http.StatusPreconditionFailed || code == "BlobAlreadyExists":
		return objects.ErrCondition
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		return fmt.Errorf("%w: these credentials may not do this, or have expired (%s)", objects.ErrDenied,
			objects.Answer(status, code))
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return fmt.Errorf("the server is too busy, and was still after several attempts (%s)", objects.Answer(status, code))
	default:
		return fmt.Errorf("the server refused (%s)", objects.Answer(status, code))
	}
}

// unsent is the error of a request that had no answer.
func unsent(err error) error {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		return errors.New("the server's name is not known: see AZURE_STORAGE_ACCOUNT")
	case errors.As(err, &op) && op.Op == "dial":
		return errors.New("the server cannot be reached: see AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_CONNECTION_STRING")
	case strings.Contains(err.Error(), "DefaultAzureCredential"):
		return errNoCredentials
	}
	return errors.New("the connection was cut, and was again after several attempts")
}
