package controllers_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// secretNamed returns a Secret with a label app.
func secretNamed(name, app string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: controllertest.Name("default", name)}
	s.Labels = map[string]string{"app": app}
	return s
}

// A controller by which each ConfigMap owns the Secrets with its name in the label app.
func ExampleDependents_Claim() {
	add := func(m *manager.Manager) error {
		owners := informers.For[*corev1.ConfigMap](m.Informers()).Lister()
		secrets := controllers.NewDependents[*corev1.ConfigMap, *corev1.Secret](m)
		_, err := controllers.Add(m, "secrets", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			owner, err := owners.Get(req)
			if err != nil {
				return reconcile.Result{}, apierrors.IgnoreNotFound(err)
			}
			mine, err := secrets.Claim(ctx, owner, controllers.ClaimOptions[*corev1.Secret]{
				Selector: labels.MustParse("app=" + owner.Name),
			})
			for _, s := range mine {
				fmt.Println(owner.Name, "owns", s.Name)
			}
			return reconcile.Result{}, err
		}), controllers.Options{}, controllers.For[*corev1.ConfigMap](), controllers.Reads[*corev1.Secret]())
		return err
	}
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{})
		controllertest.Create(c, secretNamed("password", "web"))
		controllertest.Create(c, secretNamed("other", "db"))
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "web")})
		c.Run(c.Manager("m", add))
		c.Settle()
	})
	// Output: web owns password
}

// Objects that are selected and belong are adopted while the owner lives, others are released, and those of
// other owners stay.
func TestClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var secrets controllers.Dependents[*corev1.ConfigMap, *corev1.Secret]
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			secrets = controllers.NewDependents[*corev1.ConfigMap, *corev1.Secret](m)
			return nil
		}}})
		owner := controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "web")})
		other := controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "other")})
		create := func(name, app string, by *corev1.ConfigMap) {
			s := secretNamed(name, app)
			if by != nil {
				require.NoError(t, controllers.Own(c.Admin().Scheme(), by, s))
			}
			controllertest.Create(c, s)
		}
		create("kept", "web", owner)
		create("released", "db", owner)
		create("outsider", "web", owner)
		create("foreign", "web", other)
		create("adopted", "web", nil)
		create("refused", "web", nil)
		c.Settle()
		opts := controllers.ClaimOptions[*corev1.Secret]{
			Selector: labels.MustParse("app=web"), Finalizers: []string{"a.test/f"},
			Belongs: func(s *corev1.Secret) bool { return s.Name != "outsider" },
			Adopts:  func(s *corev1.Secret) bool { return s.Name != "refused" },
		}
		names := func(list []*corev1.Secret) (out []string) {
			for _, s := range list {
				out = append(out, s.Name)
			}
			return out
		}
		replaced := *owner
		replaced.UID = "previous"
		mine, err := secrets.Claim(t.Context(), &replaced, opts)
		require.ErrorContains(t, err, "controllers: cannot adopt Secret default/adopted: ConfigMap default/web was replaced by another")
		require.Empty(t, mine)
		going := *owner
		going.DeletionTimestamp = new(metav1.Now())
		mine, err = secrets.Claim(t.Context(), &going, opts)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"kept"}, names(mine))

		for range 2 { // the second time from its own writes
			mine, err = secrets.Claim(t.Context(), owner, opts)
			require.NoError(t, err)
			require.ElementsMatch(t, []string{"kept", "adopted"}, names(mine))
		}
		for name, uid := range map[string]string{"kept": string(owner.UID), "adopted": string(owner.UID), "foreign": string(other.UID), "released": "", "outsider": "", "refused": ""} {
			ref := metav1.ControllerOf(controllertest.Get[*corev1.Secret](c, "default", name))
			if uid == "" {
				require.Nil(t, ref, name)
			} else {
				require.EqualValues(t, uid, ref.UID, name)
			}
		}
		require.Equal(t, []string{"a.test/f"}, controllertest.Get[*corev1.Secret](c, "default", "adopted").Finalizers)
		c.Settle()
		orphans, err := secrets.Orphans("default")
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"released", "outsider", "refused"}, names(orphans))
	})
}

// A refused adoption is reported, and does not hold up the other ones.
func TestClaimReportsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sets controllers.Dependents[*appsv1.Deployment, *appsv1.ReplicaSet]
		c := controllertest.Start(t, controllertest.Options{})
		conn := client.Intercept(c.Admin(), func(ctx context.Context, call client.Call, send func(context.Context) error) error {
			if call.Verb == "patch" && call.Key.Name == "bad" {
				return apierrors.NewInternalError(context.DeadlineExceeded)
			}
			return send(ctx)
		})
		c.Run(c.ManagerOver(conn, "m", func(m *manager.Manager) error {
			sets = controllers.NewDependents[*appsv1.Deployment, *appsv1.ReplicaSet](m)
			return nil
		}))
		d := &appsv1.Deployment{ObjectMeta: controllertest.Name("default", "web")}
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		d.Spec.Template.Labels = d.Spec.Selector.MatchLabels
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
		d = controllertest.Create(c, d)
		for _, name := range []string{"bad", "good"} {
			rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", name)}
			rs.Labels, rs.Spec.Selector, rs.Spec.Template = d.Spec.Selector.MatchLabels, d.Spec.Selector, d.Spec.Template
			controllertest.Create(c, rs)
		}
		c.Settle()
		mine, err := sets.Claim(t.Context(), d, controllers.ClaimOptions[*appsv1.ReplicaSet]{Selector: labels.MustParse("app=web")})
		require.ErrorContains(t, err, "deadline exceeded")
		require.Len(t, mine, 1)
		require.Equal(t, "good", mine[0].Name)
	})
}
