# SPDX-License-Identifier: GPL-2.0-or-later
# A text as C: a string literal for each line.
s/\\/\\\\/g
s/"/\\"/g
s/\t/\\t/g
s/^/"/
s/$/\\n"/
