package objecttest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

// Environment is the variables that lead a program to a server and to nothing else of the
// machine.
func Environment(t testing.TB, url, accessKey, secretKey string) map[string]string {
	none := filepath.Join(t.TempDir(), "none")
	return map[string]string{
		"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": url, "AWS_REGION": "us-east-1",
		"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_MAX_ATTEMPTS": "3", "SDLFILTER_S3_SSE": "", "SDLFILTER_S3_SSE_KMS_KEY_ID": "",
	}
}

// Use has this process use a server.
func Use(t testing.TB, url, accessKey, secretKey string) {
	t.Helper()
	for name, value := range Environment(t, url, accessKey, secretKey) {
		if name == "AWS_MAX_ATTEMPTS" && os.Getenv(name) != "" {
			continue // the test's own
		}
		if s, ok := t.(interface{ Setenv(name, value string) }); ok {
			s.Setenv(name, value)
		}
	}
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN", "AWS_PROFILE", "SDLFILTER_S3_SSE",
		"SDLFILTER_S3_SSE_KMS_KEY_ID"} {
		os.Unsetenv(name) // Setenv above has it restored
	}
	if real, _, _ := Real(); url != real {
		hasten(t)
	}
	objects.Forget()
	t.Cleanup(objects.Forget)
}

// hasten has requests that fail sent again at once.
func hasten(t testing.TB) {
	before := objects.MostPause
	objects.MostPause = time.Millisecond
	t.Cleanup(func() { objects.MostPause = before })
}

// GSEnvironment is the variables that lead a program to a server of NewGS, with credentials
// that it gives tokens for.
func GSEnvironment(t testing.TB, url, secret string) map[string]string {
	file := filepath.Join(t.TempDir(), "credentials.json")
	text := fmt.Sprintf(
		`{"type": "authorized_user", "client_id": "a-client", "client_secret": %[1]q, "refresh_token": %[1]q, "token_uri": %[2]q}`, secret, url+"/token")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		objects.GSEndpointVariable: url, "GOOGLE_APPLICATION_CREDENTIALS": file, objects.GSKMSVariable: "",
		"STORAGE_EMULATOR_HOST": "", "GOOGLE_CLOUD_QUOTA_PROJECT": "",
	}
}

// UseGS has this process use a server of NewGS.
func UseGS(t *testing.T, url string) {
	t.Helper()
	use(t, GSEnvironment(t, url, SecretKey))
}

func use(t *testing.T, environment map[string]string) {
	t.Helper()
	for name, value := range environment {
		t.Setenv(name, value)
	}
	hasten(t)
	objects.Forget()
	t.Cleanup(objects.Forget)
}

// CompletesOver reports whether the real server is known not to keep to If-Match of
// CompleteMultipartUpload.
func CompletesOver() bool { return os.Getenv("SDLFILTER_TEST_S3_COMPLETES_OVER") != "" }

// Real is the server of other people that a test is to use, by SDLFILTER_TEST_S3 and the
// usual credentials; url is "" where there is none.
func Real() (url, accessKey, secretKey string) {
	return os.Getenv("SDLFILTER_TEST_S3"), os.Getenv("SDLFILTER_TEST_S3_ACCESS_KEY"),
		os.Getenv("SDLFILTER_TEST_S3_SECRET_KEY")
}

// Serve starts a server of the protocol of a scheme, s3, gs or az, and has this process use it.
func Serve(t *testing.T, scheme string, buckets ...string) *Server {
	t.Helper()
	var s *Server
	switch scheme {
	case "gs":
		s = NewGS(t, buckets...)
		UseGS(t, s.URL)
	case "az":
		s = NewAz(t, buckets...)
		UseAz(t, s.URL)
	default:
		s = New(t, buckets...)
		Use(t, s.URL, AccessKey, SecretKey)
	}
	return s
}
