package batchv1

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

func TestScheduleAgreesWithCronLibrary(t *testing.T) {
	for _, text := range []string{
		"* * * * *", "*/5 0-23/2 1,15 jan-DEC MON", "0 0 31 12 6", "60 * * * *", "* * 0 * *", "* * * * 7", "* * * 13 *", "5-1 * * * *",
		"*/0 * * * *", "1/2/3 * * * *", "1-2-3 * * * *", "*-5 * * * *", "? * ? * *", "@daily", "@never", "@every 5m", "@every x", "@every",
		"TZ=UTC * * * * *", "CRON_TZ=Europe/Paris @hourly", "TZ=Nope * * * * *", "", "   ", "* * * *", "* * * * * *", "-1 * * * *", "a * * * *", ", * * * *",
	} {
		agree(t, text)
	}
	require.Error(t, checkSchedule("TZ=UTC"), "the library would panic")
	parts := []string{"*", "?", "0", "1", "7", "12", "31", "59", "60", "-", "/", ",", "mon", "FEB", "-1", "x", "*/2"}
	for _, seed := range seeds.Of(t, 20_000) {
		r := rand.New(rand.NewSource(int64(seed)))
		fields := make([]string, 4+r.Intn(3))
		for i := range fields {
			for range 1 + r.Intn(3) {
				fields[i] += parts[r.Intn(len(parts))]
			}
		}
		agree(t, strings.Join(fields, " "))
	}
}

func agree(t *testing.T, text string) {
	t.Helper()
	_, want := cron.ParseStandard(text)
	got := checkSchedule(text)
	require.Equal(t, want == nil, got == nil, "%q: library says %v, we say %v", text, want, got)
}

func TestGeneratedSelector(t *testing.T) {
	j := &Job{}
	j.Name, j.UID = "j", "u1"
	GenerateSelector(j)
	require.Equal(t, map[string]string{ControllerUidLabel: "u1"}, j.Spec.Selector.MatchLabels)
	require.Equal(t, map[string]string{
		ControllerUidLabel: "u1", JobNameLabel: "j", "controller-uid": "u1", "job-name": "j",
	}, j.Spec.Template.Labels)
	require.Empty(t, validateGenerated(j))

	j.Spec.Template.Labels[JobNameLabel] = "other"
	require.NotEmpty(t, validateGenerated(j))

	manual := &Job{Spec: JobSpec{ManualSelector: new(true)}}
	GenerateSelector(manual)
	require.Nil(t, manual.Spec.Selector)
}

func TestSucceededIndexes(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "0": 1, "0-2,4": 4, "1,3-5,7": 5} {
		n, err := countIndexes(text, 10)
		require.NoError(t, err)
		require.Equal(t, want, n, text)
	}
	for _, bad := range []string{"1,1", "2-1", "x", "1-", "3,2", "5-20", ",", "1-2-3"} {
		_, err := countIndexes(bad, 10)
		require.Error(t, err, bad)
	}
}
