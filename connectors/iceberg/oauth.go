package iceberg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// tokens returns what asks for a token by the credential (OAuth 2, client credentials in the parameters, as Iceberg's
// clients do).
func (p *Place) tokens() (func() (string, error), error) {
	text, err := p.Credential.Read()
	if err != nil {
		return nil, err
	}
	id, secret, both := strings.Cut(text, ":")
	if !both || id == "" || secret == "" {
		return nil, errors.New("what is kept there must be CLIENT_ID:CLIENT_SECRET")
	}
	config := clientcredentials.Config{
		ClientID: id, ClientSecret: secret, TokenURL: p.tokenURL(), Scopes: []string{cmp.Or(p.Scope, "catalog")},
		AuthStyle: oauth2.AuthStyleInParams,
	}
	// Whoever the server points to is not told the secret.
	client := webClient()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, client)
	return func() (string, error) {
		token, err := config.Token(ctx)
		var said *oauth2.RetrieveError
		var failed *url.Error
		switch {
		case err == nil:
			return token.AccessToken, nil
		case errors.As(err, &said) && said.Response != nil:
			// The answer may hold anything.
			return "", fmt.Errorf("the server of the tokens gives none: %w",
				&restError{said.Response.StatusCode, word(strings.ReplaceAll(said.ErrorCode, "_", ""))})
		case errors.As(err, &failed):
			return "", &unreached{"the server of the tokens cannot be reached: " + failed.Err.Error()}
		}
		return "", errors.New("the server of the tokens answers otherwise than OAuth 2 says")
	}, nil
}
