package aggregation

import (
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/internal/inprocess"
)

// InProcess is an API version that a handler of this process serves. Its requests are authenticated, limited,
// authorized and recorded as those for other servers are. It has no APIService object.
type InProcess struct {
	GroupVersion schema.GroupVersion
	// GroupPriority and VersionPriority order it in discovery, as those of an APIService do.
	GroupPriority, VersionPriority int32
	// Resources are what discovery shows.
	Resources []apidiscoveryv2.APIResourceDiscovery
	// Handler serves all requests whose path begins with /apis/GROUP/VERSION, that path itself included. Its
	// responses are held in memory, so it must not serve watches. It is called concurrently; the caller is
	// authn.UserFrom the request's context.
	Handler http.Handler
}

// RoundTrip calls the handler.
func (p *InProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	return inprocess.RoundTrip(p.Handler, r), nil
}

func (p *InProcess) version() apiserver.AggregatedVersion {
	return apiserver.AggregatedVersion{GroupVersion: p.GroupVersion, GroupPriority: p.GroupPriority, VersionPriority: p.VersionPriority,
		Discovery: apidiscoveryv2.APIVersionDiscovery{Version: p.GroupVersion.Version, Resources: p.Resources, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}}
}
