package metrics_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/workqueue"
)

// A queue that belongs to no controller, on the same page. Those of controllers are measured by giving the
// metrics to the manager, as its Monitor.
func Example() {
	m := metrics.New()
	q := workqueue.New(workqueue.Options[string]{Metrics: m.Queue("thumbnails")})
	q.Add("a.png")
	q.Add("b.png")
	key, _ := q.Get(context.Background())
	q.Done(key)

	page := httptest.NewRecorder()
	m.ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(page.Body.String()) {
		if strings.HasPrefix(line, "workqueue_depth") || strings.HasPrefix(line, "workqueue_adds_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// workqueue_adds_total{controller="thumbnails",name="thumbnails"} 2
	// workqueue_depth{controller="thumbnails",name="thumbnails",priority="0"} 1
}
