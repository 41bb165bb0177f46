// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Depository} from "../../src/Depository.sol";
import {DevToken} from "../../src/dev/DevToken.sol";
import {Test} from "../Test.sol";

/// @notice A Depository with one approved receiver, a token, and a user with native value and tokens.
abstract contract DepositoryTest is Test {
    bytes32 internal constant ID = bytes32(uint256(7));

    address internal immutable owner = named("owner");
    address internal immutable receiver = named("receiver");
    address internal immutable user = named("user");
    address internal immutable outsider = named("outsider");

    Depository internal depository;
    DevToken internal token;

    function setUp() public virtual {
        depository = new Depository(owner, _one(receiver));
        token = new DevToken("USD Coin", "USDC", 6, user, 1_000_000e6);
        vm.deal(user, 1000 ether);
        vm.prank(user);
        token.approve(address(depository), type(uint256).max);
    }

    function _one(address account) internal pure returns (address[] memory list) {
        list = new address[](1);
        list[0] = account;
    }

    function _approveReceiver(address account) internal {
        vm.prank(owner);
        depository.addToWhitelist(account);
    }

    function _pause() internal {
        vm.prank(owner);
        depository.pause();
    }

    function _expectDeposited(address token_, address receiver_, uint256 amount) internal {
        vm.expectEmit(address(depository));
        emit Depository.Deposited(ID, token_, receiver_, amount);
    }
}
