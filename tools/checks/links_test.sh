#!/usr/bin/env bash
# links_test.sh <scratch directory>
# links.py accepts documents whose links lead somewhere, and reports each kind of broken link with its line.
. "$(dirname "$0")/common.sh"
check=$(cd "$(dirname "$0")" && pwd)/links.py
scratch=$1
rm -rf "$scratch"
mkdir -p "$scratch/docs/guide"
cd "$scratch"
git init -q .
code=$'```text\n# No heading\n[no link](missing.md)\n```'
cat >README.md <<END
# A page
[page](docs/guide/page.md), [its heading](docs/guide/page.md#a-heading-with-code), [directory](docs/guide), [a
link on two lines](docs/guide/page.md#twice-1), [another site](https://example.org/missing), [here](#a-page)
\`[no link](missing.md)\`
$code
END
echo '[page](guide/page.md), [README](../README.md)' >docs/README.md
printf '## A heading with `code`\n## Twice\n## Twice\n' >docs/guide/page.md
said=$("$check" . 2>&1) || complain "valid links are reported: $said"
expect "$said" '^7 links of 3 documents$' "valid links"

# broken <text> <pattern>: a page with this text is reported.
broken() {
  echo "$1" >docs/guide/broken.md
  echo '[page](guide/page.md), [broken](guide/broken.md)' >docs/README.md
  said=$("$check" . 2>&1) && complain "'$1' is accepted"
  expect "$said" "^docs/guide/broken\.md:1: $2\$" "'$1'"
}
broken '[page](pages.md)' 'pages\.md: does not exist'
broken '[page](page.md#missing)' "page\.md#missing: has no heading '#missing'"
broken '[page](page.md#twice-2)' "page\.md#twice-2: has no heading '#twice-2'"
broken '![picture](picture.png)' 'picture\.png: does not exist'
broken '[code](../../README.md#no-heading)' "\.\./\.\./README\.md#no-heading: has no heading '#no-heading'"
broken '[outside](../../../README.md)' '\.\./\.\./\.\./README\.md: is outside of the sources'
broken '[directory](../guide#a-heading)' '\.\./guide#a-heading: has an anchor, but is not a document'

rm docs/guide/broken.md
echo '# Index' >docs/README.md
said=$("$check" . 2>&1) && complain "a page that the index does not list is accepted"
expect "$said" '^docs/README\.md: guide/page\.md: is not linked$' "a page that the index does not list"
finish
