package corev1

import "maps"

// DeepCopyInto makes out a copy of l. Quantities are values, so copying the entries is enough, and
// cloning the map is several times faster than what package codec can do by reflection.
func (l *ResourceList) DeepCopyInto(out *ResourceList) { *out = maps.Clone(*l) }
