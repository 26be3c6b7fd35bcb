# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by new-driver, and by iw-mpa-new-driver of the package iw-mpa-dev: copy the skeleton in $SKELETON under the
# name of another driver.

# Names of the skeleton's objects
objects() { sed -n 's/^iw_mpa_skeleton-y := //p' "$SKELETON/Kbuild"; }

# Copy the skeleton into DIR, renamed to NAME. Its driver id changes, too: drivers must not share
# one.
copy_renamed() {
	local name=$1 dir=$2 upper=${1^^} id file

	id=$(printf '%s' "$name" | cksum | cut -d ' ' -f 1)
	for file in $(objects) skel.h compat.h; do
		file=${file/%.o/.c}
		sed -E -e "s/0x6d7061/0x$(printf '%06x' $((id % 0x1000000)))/" \
			-e "s/\biw_mpa_skeleton\b/$name/g" -e "s/\bSkeleton of an RNIC driver\b/RNIC driver $name/" \
			-e "s/\bskel_/${name}_/g; s/\bSKEL_/${upper}_/g; s/_skel_/_${name}_/g; s/_SKEL_/_${upper}_/g" \
			-e "s/\bskel0\b/${name}0/g; s/\bskel\.h\b/$name.h/g" "$SKELETON/$file" \
			>"$dir/${file/#skel./$name.}"
	done
	# modinfo then prints the API that the driver is compiled for. The skeleton has no such line, since it is also a
	# sample for the kernel's tree, where there is no IW_MPA_API.
	echo 'MODULE_INFO(iw_mpa_api, __stringify(IW_MPA_API));' >>"$dir/main.c"
}

# write_kbuild NAME DIR LINE...: write DIR/Kbuild; LINEs name the folder of iw_mpa's headers
write_kbuild() {
	cat >"$2/Kbuild" <<-END
		# SPDX-License-Identifier: GPL-2.0

		obj-m += $1.o
		$1-y := $(objects)
		ccflags-y += -include \$(src)/compat.h

	END
	printf '%s\n' "${@:3}" >>"$2/Kbuild"
}

# refuse COMMAND NAME DIR: if such a driver cannot be made, print why
refuse() {
	if [[ ! $2 =~ ^[a-z][a-z0-9_]{0,14}$ || -z $3 ]]; then
		echo "usage: $1, NAME of 15 small letters, digits and _ at most"
	elif [[ $2 =~ ^(siw|rxe|srnic|siw_mpa|iw_mpa.*)$ ]]; then
		echo "$2 is the name of another module"
	elif [[ $2 == compat || " $(objects) " == *" $2.o "* ]]; then
		echo "$2 is the name of a file in it"
	elif [[ -e $3 ]]; then
		echo "$3 is there already"
	elif [[ $(realpath -m "$3") == *[[:space:]]* ]]; then
		echo "a blank in the name of a folder is nothing that make can build in: $3"
	fi
}
