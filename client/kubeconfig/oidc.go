package kubeconfig

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/client/rest"
)

// The keys of an oidc auth-provider's configuration.
const (
	oidcIssuer       = "idp-issuer-url"
	oidcClientID     = "client-id"
	oidcClientSecret = "client-secret"
	oidcCAFile       = "idp-certificate-authority"
	oidcCAData       = "idp-certificate-authority-data"
	oidcIDToken      = "id-token"
	oidcRefreshToken = "refresh-token"
)

// oidc fetches id tokens with a refresh token.
type oidc struct {
	config  map[string]string
	field   string
	persist func(map[string]string) error
}

func newOIDC(config map[string]string, field string, persist func(map[string]string) error) (rest.CredentialSource, error) {
	if config[oidcIssuer] == "" {
		return nil, wrong(field+".config."+oidcIssuer, "is empty")
	}
	if config[oidcClientID] == "" {
		return nil, wrong(field+".config."+oidcClientID, "is empty")
	}
	o := &oidc{config: maps.Clone(config), field: field, persist: persist}
	return rest.CacheCredentials(o.fetch), nil
}

func (o *oidc) fail(format string, args ...any) error {
	return &Error{Field: o.field, Err: fmt.Errorf(format, args...)}
}

// fetch returns the id token, a new one if the server has refused a credential; there is one call at a time.
func (o *oidc) fetch(ctx context.Context, rejected *rest.Credential) (rest.Fetched, error) {
	if token := o.config[oidcIDToken]; token != "" && rejected == nil {
		if end, ok := tokenExpiry(token); ok && time.Until(end) > expiryMargin {
			return fetched(&rest.Credential{Token: token}, end), nil
		}
	}
	refresh := o.config[oidcRefreshToken]
	if refresh == "" {
		return rest.Fetched{}, o.fail("the id token has expired and there is no refresh token")
	}
	hc, err := o.httpClient()
	if err != nil {
		return rest.Fetched{}, err
	}
	defer hc.CloseIdleConnections()
	endpoint, err := o.tokenEndpoint(ctx, hc)
	if err != nil {
		return rest.Fetched{}, err
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {o.config[oidcClientID]}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return rest.Fetched{}, o.fail("the issuer's token endpoint is not a URL")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if secret := o.config[oidcClientSecret]; secret != "" {
		req.SetBasicAuth(url.QueryEscape(o.config[oidcClientID]), url.QueryEscape(secret))
	}
	var answer struct {
		IDToken      string `json:"id_token"`
		RefreshToken string `json:"refresh_token"`
	}
	if err := o.postForm(hc, req, &answer); err != nil {
		return rest.Fetched{}, o.fail("refresh the id token: %w", err)
	}
	if answer.IDToken == "" {
		return rest.Fetched{}, o.fail("the issuer's answer holds no id token")
	}
	o.config[oidcIDToken] = answer.IDToken
	if answer.RefreshToken != "" {
		o.config[oidcRefreshToken] = answer.RefreshToken
	}
	if err := o.persist(maps.Clone(o.config)); err != nil {
		return rest.Fetched{}, o.fail("keep the refreshed token: %w", err)
	}
	end, _ := tokenExpiry(answer.IDToken)
	return fetched(&rest.Credential{Token: answer.IDToken}, end), nil
}

func (o *oidc) httpClient() (*http.Client, error) {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true}
	var pem []byte
	var err error
	switch {
	case o.config[oidcCAData] != "":
		pem, err = base64.StdEncoding.DecodeString(o.config[oidcCAData])
	case o.config[oidcCAFile] != "":
		pem, err = os.ReadFile(o.config[oidcCAFile])
	}
	if err != nil {
		return nil, o.fail("the issuer's certificate authority: %w", err)
	}
	if pem != nil {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, o.fail("the issuer's certificate authority holds no PEM certificate")
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: t, Timeout: 30 * time.Second}, nil
}

func (o *oidc) tokenEndpoint(ctx context.Context, hc *http.Client) (string, error) {
	issuer := strings.TrimSuffix(o.config[oidcIssuer], "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, issuer+"/.well-known/openid-configuration", nil)
	if err != nil {
		return "", wrong(o.field+".config."+oidcIssuer, "is not a URL")
	}
	var doc struct {
		TokenEndpoint string `json:"token_endpoint"`
	}
	if err := o.postForm(hc, req, &doc); err != nil {
		return "", o.fail("ask the issuer for its endpoints: %w", err)
	}
	if doc.TokenEndpoint == "" {
		return "", o.fail("the issuer names no token endpoint")
	}
	return doc.TokenEndpoint, nil
}

// postForm sends a request and parses a JSON reply. The body of an error reply is not shown: it may contain
// secrets.
func (o *oidc) postForm(hc *http.Client, req *http.Request, into any) error {
	resp, err := hc.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("unexpected status %s", resp.Status)
	}
	if json.Unmarshal(body, into) != nil {
		return errors.New("the reply is not JSON")
	}
	return nil
}

// tokenExpiry returns a token's expiry. The signature is checked by the server.
func tokenExpiry(token string) (time.Time, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(b, &claims) != nil || claims.Exp == 0 {
		return time.Time{}, false
	}
	return time.Unix(int64(claims.Exp), 0), true
}
