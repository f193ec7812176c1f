# Completion of fabricast in bash: `source <(fabricast completion bash)`, or this file as
# /usr/share/bash-completion/completions/fabricast. The program itself says what fits.

_fabricast() {
  # bash cuts words at '=' and ':' too: put together what no blank separates.
  local line=${COMP_LINE:0:COMP_POINT} word words=()
  for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if [[ ${#words[@]} -eq 0 || -z $line || $line == [[:space:]]* ]]; then
      words+=("")
      line=${line#"${line%%[![:space:]]*}"}
    fi
    [[ $line == "$word"* ]] || word=$line # the cursor is inside it
    line=${line#"$word"}
    words[-1]+=$word
  done

  # What bash puts the candidate in place of is the last piece alone.
  local typed=${words[-1]} piece=${COMP_WORDS[COMP_CWORD]}
  local before=${typed%"$piece"}
  [[ $piece == [=:]* ]] && before=$typed

  local found home=${HOME%/}
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    found=${word#"${before//\\/}"}
    [[ $found == *[!A-Za-z0-9_./:=,+@%^-]* ]] && printf -v found '%q' "$found"
    COMPREPLY+=("$found")
    [[ $word == *[/=:] ]] && compopt -o nospace 2>/dev/null
  done < <("${1/#\~\//$home/}" __complete -- "${words[@]:1}" 2>/dev/null)
}

complete -F _fabricast fabricast
