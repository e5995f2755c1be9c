# What `make install` gives: command, libraries, header, pkg-config and CMake package, man
# pages, completions, licence, documents.  tests/install builds a program against each of them.
include(CMakePackageConfigHelpers)

install(TARGETS attsvm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS attsvm_shared attsvm_static EXPORT attsvmTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/attsvm/attsvm.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/attsvm)

# find_package(attsvm): attsvm::attsvm (shared), attsvm::static.
set(cmake_package ${CMAKE_INSTALL_LIBDIR}/cmake/attsvm)
target_link_libraries(attsvm_static INTERFACE "$<INSTALL_INTERFACE:${attsvm_archive_needs}>")
install(EXPORT attsvmTargets NAMESPACE attsvm:: DESTINATION ${cmake_package})
file(CONFIGURE OUTPUT attsvmConfig.cmake @ONLY
     CONTENT "include(\${CMAKE_CURRENT_LIST_DIR}/attsvmTargets.cmake)\n")
write_basic_package_version_file(attsvmConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attsvmConfig.cmake
              ${PROJECT_BINARY_DIR}/attsvmConfigVersion.cmake DESTINATION ${cmake_package})

# attsvm.pc finds its prefix from where it lies, so that any prefix may be given when installing.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
list(TRANSFORM attsvm_archive_needs PREPEND "-l" OUTPUT_VARIABLE pc_private)
list(JOIN pc_private " " pc_private)
configure_file(cmake/attsvm.pc.in attsvm.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/attsvm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Man pages and completions come out of the command's own tables.
if(NOT CMAKE_CROSSCOMPILING)
    add_custom_command(OUTPUT pages.stamp
                       COMMAND ${CMAKE_COMMAND} -D COMMAND=$<TARGET_FILE:attsvm>
                               -D OUT=${PROJECT_BINARY_DIR}/pages
                               -P ${PROJECT_SOURCE_DIR}/cmake/pages.cmake
                       COMMAND ${CMAKE_COMMAND} -E touch pages.stamp
                       DEPENDS attsvm cmake/pages.cmake VERBATIM)
    add_custom_target(attsvm_pages ALL DEPENDS pages.stamp)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/pages/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${PROJECT_BINARY_DIR}/pages/attsvm.bash RENAME attsvm
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${PROJECT_BINARY_DIR}/pages/_attsvm
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${PROJECT_BINARY_DIR}/pages/attsvm.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

install(FILES README.md LICENSE CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
